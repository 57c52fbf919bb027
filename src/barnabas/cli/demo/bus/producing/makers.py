"""Everything that the company makes, started and ended together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.cli.demo.bus.producing.access_log import AccessLog
from barnabas.cli.demo.bus.producing.maker import Maker
from barnabas.cli.demo.bus.producing.sensors import Sensors
from barnabas.cli.demo.bus.producing.shop import Shop

if TYPE_CHECKING:
    from barnabas.cli.demo.bus.company import Company

_KINDS = 3  # --rate is of all of them


class Makers:
    def __init__(self, company: Company, rate: float) -> None:
        each = rate / _KINDS
        self.shop = Shop(company.postgres, each) if company.postgres is not None else None
        self.sensors = Sensors(company.mosquitto, each) if company.mosquitto is not None else None
        self.access_log = AccessLog(company.access_log, each)
        kinds = (self.shop, self.sensors, self.access_log)
        self._all: list[Maker] = [maker for maker in kinds if maker is not None]

    def start(self) -> None:
        for maker in self._all:
            maker.start()

    def finish(self) -> None:
        for maker in self._all:
            maker.finish()

    def check(self) -> None:
        for maker in self._all:
            maker.check()

    def close(self) -> None:
        for maker in self._all:
            maker.close()
