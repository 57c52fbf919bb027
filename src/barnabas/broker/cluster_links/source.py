"""The other end of a link: connections to the source cluster, with the link's login, and who leads what there."""

from collections.abc import Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from barnabas.link.async_nodes import AsyncNodes, AsyncOptions
from barnabas.link.login_settings import UnusableLogin, credentials_of, tls_of
from barnabas.link.view import Address
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings import LINK_SETTINGS, parse_value
from barnabas.model.settings.link import LOGIN_SETTINGS
from barnabas.wire.apis import LIST_OFFSETS

if TYPE_CHECKING:
    from barnabas.wire.messages import ListOffsetsResponse

EARLIEST, LATEST = -2, -1
_LIST_OFFSETS_NEWEST = 7


class LinkSettings:
    """A link's settings, by the rows of model/settings/link.py."""

    def __init__(self, stored: Mapping[str, str]) -> None:
        self._stored = stored

    def _value(self, name: str) -> object:
        row, text = LINK_SETTINGS[name], self._stored.get(name)
        return row.default if text is None else parse_value(row, text)

    def list(self, name: str) -> tuple[str, ...]:
        value = self._value(name)
        return value if isinstance(value, tuple) else ()

    def bool(self, name: str) -> bool:
        return bool(self._value(name))

    def int(self, name: str) -> int:
        value = self._value(name)
        return value if isinstance(value, int) else 0

    def text(self, name: str) -> str:
        return self._stored.get(name, "")

    @property
    def protocol(self) -> str:
        return self.text("security.protocol")

    @property
    def login(self) -> dict[str, str]:
        return {name: self._stored[name] for name in LOGIN_SETTINGS if self._stored.get(name)}


def source_nodes(name: str, settings: LinkSettings, threads: Executor) -> AsyncNodes:
    """KafkaError, with one line, where the settings cannot be used."""
    try:
        login = settings.login
        tls, credentials = tls_of(login), credentials_of(login)
        options = AsyncOptions(f"link-{name}", tls=tls, credentials=credentials, threads=threads)
        return AsyncNodes(_addresses(settings.list("bootstrap.servers")), options)
    except (UnusableLogin, ValueError) as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"link {name!r}: {error}") from None


def _addresses(servers: tuple[str, ...]) -> list[Address]:
    found = []
    for server in servers:
        host, colon, port = server.rpartition(":")
        if not colon or not host or not port.isdecimal():
            raise ValueError(f"bootstrap.servers: {server!r} is not host:port")
        found.append((host.strip("[]"), int(port)))
    return found


async def log_range(nodes: AsyncNodes, leader: int, topic: str, index: int) -> tuple[int, int]:
    """Where the source's log of a partition begins and ends (its high watermark)."""
    found: list[int] = []
    for timestamp in (EARLIEST, LATEST):
        partition = {"partition_index": index, "current_leader_epoch": -1, "timestamp": timestamp}
        body = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": topic, "partitions": [partition]}]}
        answer: ListOffsetsResponse = await nodes.ask(leader, LIST_OFFSETS, body, _LIST_OFFSETS_NEWEST)
        part = answer.topics[0].partitions[0]
        if part.error_code:
            raise KafkaError(ErrorCode(part.error_code), f"the source does not say where {topic}-{index} begins")
        found.append(part.offset)
    return found[0], found[1]
