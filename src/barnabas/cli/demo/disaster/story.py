"""The drill, step by step: each shows the command that a person would type, runs it, and prints what it printed.

Two clusters of one node each, in temporary folders. East is killed by kill -9 while orders are written, west takes over
with what has come over, east comes back and follows west, and in the end east is where it was. Then the books are
compared: no order that had come over is missing, none is there twice, and what east had not handed over is in a file.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.cli.common import link
from barnabas.cli.common.failure import Failure
from barnabas.cli.common.human import count, duration, plural, size
from barnabas.cli.common.screen import paint, say
from barnabas.cli.demo.disaster.orders import GROUP, PARTITIONS, TOPIC, Billing, Shop
from barnabas.cli.demo.node import DemoNode
from barnabas.model.processes import python_environment, python_module

LINK = "east"
_WAIT_S, _LOOK_S, _COMMAND_S = 60.0, 0.1, 120.0
_SLOW_S, _SLOW_BYTES_AN_ORDER = 2.0, 20  # of about 80: most of what is written meanwhile does not come over


class Asked(NamedTuple):
    seconds: float | None  # of orders before and after the loss, together
    port: int
    rate: int


class Drill:
    def __init__(self, asked: Asked, east: DemoNode, west: DemoNode) -> None:
        self._asked, self._east, self._west = asked, east, west
        self._writing_s = max((asked.seconds or 12.0) / 3, 1.0)
        self._problems: list[str] = []

    def run(self) -> list[str]:
        """What was not as it should be; nothing is said of what was."""
        first, billing = self._begin()
        missing = self._lose_east(first, billing)
        shop, second = self._go_on_in_west(first)
        self._bring_east_back()
        self._go_home(shop, second)
        self._compare(first, shop, billing, second, missing)
        return self._problems

    # --- the steps ----------------------------------------------------------------------------------------------------

    def _begin(self) -> tuple[Shop, Billing]:
        _step("1  two clusters, and a link from east to west")
        self._type("topic", "create", TOPIC, "--partitions", str(PARTITIONS), "-b", self._east.bootstrap)
        shop, billing = Shop(self._east.bootstrap, self._asked.rate), Billing(self._east.bootstrap)
        east, west = self._east.bootstrap, self._west.bootstrap
        self._type("link", "create", LINK, "--from", east, "--topics", TOPIC, "-b", west)
        time.sleep(self._writing_s)
        self._type("link", "status", LINK, "-b", west)
        say(f"   a shop writes {self._asked.rate} orders a second to east, the group {GROUP} bills them there")
        return shop, billing

    def _lose_east(self, shop: Shop, billing: Billing) -> int:
        _step("2  the line between them is slow, and then east is lost: kill -9")
        slow = f"{max(self._asked.rate * _SLOW_BYTES_AN_ORDER // 1000, 1)}KB"
        self._type("link", "throttle", LINK, slow, "-b", self._west.bootstrap)
        time.sleep(_SLOW_S)
        self._east.kill()
        lost_at = time.monotonic()
        _step("3  west takes over with what it has")
        self._type("link", "promote", LINK, "--now", "--yes", "-b", self._west.bootstrap)
        say(f"   {duration(time.monotonic() - lost_at)} after the loss, most of it the start of the command")
        shop.close(is_lost=True)
        billing.close(is_lost=True)
        say(
            f"   {plural(len(shop.acknowledged), 'order')} acknowledged, {count(len(billing.billed))} billed until then"
        )
        return len(shop.acknowledged - set(_orders(self._west.bootstrap)))

    def _go_on_in_west(self, first: Shop) -> tuple[Shop, Billing]:
        shop = Shop(self._west.bootstrap, self._asked.rate, first.next_order)
        billing = Billing(self._west.bootstrap)
        say(f"   the shop writes to west now, and the group {GROUP} goes on where it was")
        time.sleep(self._writing_s)
        return shop, billing

    def _bring_east_back(self) -> None:
        _step("4  east comes back, and follows west")
        self._east.start()
        self._type("link", "reverse", LINK, "--yes", "-b", self._west.bootstrap)
        self._until(lambda: self._lag(self._east) == 0, "east has what west has")
        time.sleep(self._writing_s)
        self._type("link", "status", LINK, "-b", self._east.bootstrap)
        for file in sorted((Path(self._east.data) / "link-cut").rglob("*.log")):
            say(f"   what only east had is kept: link-cut/{file.parent.name}, {size(file.stat().st_size)}")

    def _go_home(self, shop: Shop, billing: Billing) -> None:
        _step("5  home again: a planned promotion, nothing may be lost")
        shop.close()
        self._until(lambda: billing.billed.keys() >= shop.acknowledged, "the group has billed all orders")
        billing.close()
        self._until(lambda: self._lag(self._east) == 0, "east has what west has")
        self._type("link", "verify", LINK, "-b", self._east.bootstrap)
        self._type("link", "promote", LINK, "-b", self._east.bootstrap)

    def _compare(self, first: Shop, shop: Shop, billing: Billing, second: Billing, missing: int) -> None:
        _step("6  the books")
        found = _orders(self._east.bootstrap)
        here = set(found)
        gone = len(first.acknowledged - here)
        say(f"   {count(len(here))} orders in east; {plural(missing, 'order')} had not come over when east was lost")
        billed = billing.billed.keys() | second.billed.keys()
        again = sum(billing.billed.get(n, 0) + second.billed.get(n, 0) > 1 for n in billed)
        say(f"   billed: {count(len(billed))} orders, {count(again)} of them twice: after the loss the group began")
        say("   where its last offset had come over")
        self._check(gone == missing, f"{gone} orders of before the loss are missing, promote left {missing}")
        self._check(shop.acknowledged <= here, f"{len(shop.acknowledged - here)} orders of west are missing")
        self._check(len(found) == len(here), f"{len(found) - len(here)} orders are there twice")
        self._check(here <= billed, f"{len(here - billed)} orders were never billed")

    # --- tools --------------------------------------------------------------------------------------------------------

    def _check(self, fine: bool, problem: str) -> None:
        if not fine:
            self._problems.append(problem)

    def _type(self, *words: str) -> None:
        say(paint(f"   $ barnabas {' '.join(words)}", "bold"))
        done = _run(*words)
        for line in (done.stdout + done.stderr).splitlines():
            say(f"     {line}")
        if done.returncode:
            raise Failure(f"barnabas {words[0]} {words[1]} ended with {done.returncode}", "The drill cannot go on.")

    def _lag(self, node: DemoNode) -> int | None:
        """None while something is not known yet."""
        done = _run("link", "status", LINK, "-b", node.bootstrap, "--json")
        if done.returncode or not done.stdout:
            return None
        found: Any = json.loads(done.stdout)  # as cli/link/status.py writes it
        known = found["partitions"] and all(part["source_end_offset"] >= 0 for part in found["partitions"])
        return int(found["lag_records"]) if known else None

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _WAIT_S
        while not condition():
            if time.monotonic() >= deadline:
                raise Failure(f"not after {duration(_WAIT_S)}: {what}")
            time.sleep(_LOOK_S)


def _step(text: str) -> None:
    say()
    say(paint(text, "cyan"))


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [*python_module("barnabas.cli.main"), *words]
    return subprocess.run(
        command, env=python_environment(), capture_output=True, text=True, timeout=_COMMAND_S, check=False
    )


def _orders(bootstrap: str) -> list[int]:
    """Every order of the topic, as often as it is there."""
    from confluent_kafka import TopicPartition

    settings = {"group.id": "books", "enable.auto.commit": False, "enable.partition.eof": True}
    reader = link.consumer(bootstrap, settings)
    try:
        reader.assign([TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)])
        found: list[int] = []
        ended: set[int] = set()
        deadline = time.monotonic() + _WAIT_S
        while len(ended) < PARTITIONS:
            for message in reader.consume(5000, 0.5):
                if message.error() is None:
                    found.append(int(message.value() or b"-1"))
                else:
                    ended.add(message.partition() or 0)
            if time.monotonic() >= deadline:
                raise Failure(f"{bootstrap} could not be read to its end")
        return found
    finally:
        reader.close()


def tell_the_story(asked: Asked) -> bool:
    """Gives whether nothing was lost."""
    with ExitStack() as stack:
        east = stack.enter_context(DemoNode(asked.port, None))
        west = stack.enter_context(DemoNode(0, None))
        say(f"east is {east.bootstrap}, west is {west.bootstrap}; their data go when the drill ends")
        problems = Drill(asked, east, west).run()
    say()
    for problem in problems:
        say(paint(f"   wrong: {problem}", "red"))
    if not problems:
        say(paint("   nothing that had come over was lost, nothing is there twice", "green"))
        say("   next: docs/clusters.md, with the same commands for clusters of your own")
    return not problems
