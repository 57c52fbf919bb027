"""For each served API the largest and most repetitive request its decoder accepts, against a real node: what it costs
the node in CPU, memory and bytes sent has a ceiling relative to the request, no callback holds the loop for longer than
LOOP_BUDGET_MS, and a good client beside it is served. The hold is CPU time of the loop's thread, measured around every
callback (support/measured_node.py), so that other work on the machine does not count.

BARNABAS_AMPLIFY sets the size of a request in bytes; `make test` runs 128 KiB, and for lists that clients make long as
many elements as a request may have; `BARNABAS_AMPLIFY=8000000` does so for all.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.model.limits import LOOP_BUDGET_MS
from barnabas.wire.apis import SERVED, elements_max
from tests.limits.amplified import GROUP, TOPIC, Case, cases, served_with_arrays
from tests.support import measured_node
from tests.support.servers import ROOT, BarnabasNode
from tests.support.wire import API_VERSIONS, METADATA, WireClient, await_group_coordinator, create_topic

pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("hostile")]
SIZE = int(os.environ.get("BARNABAS_AMPLIFY", str(128 * 1024)))
MIB = 1 << 20
LONGEST = 8 * MIB  # room for as many elements as any request may have
NAMED_BY_CLIENTS = ("fetch", "metadata", "offset_commit", "describe_configs", "list_partition_reassignments")


class Ceiling(NamedTuple):
    """Of one request. CPU and memory beside what any request of this size costs to receive and decode."""

    cpu_seconds_per_mib: float = 3.0
    answer_per_byte: float = 12.0  # bytes sent for each received: an error text stands for a name of two letters
    memory_per_byte: float = 150.0  # a decoded name is an object of 60 bytes, and an item of the answer a dict
    hold_ms: int = LOOP_BUDGET_MS


# Where an API may cost more, and why.
CEILINGS: dict[str, Ceiling] = {
    # Read by a parser of its own, and records are judged by tests of their own.
    "produce": Ceiling(cpu_seconds_per_mib=5.0, answer_per_byte=16.0, memory_per_byte=300.0),
    "describe_groups": Ceiling(cpu_seconds_per_mib=6.0),  # each name of five letters is asked of its coordinator
    "describe_quorum": Ceiling(answer_per_byte=16.0),
}
NOT_ASKED = {"unregister_broker", "remove_raft_voter"}  # nothing to repeat, and the node would be gone


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BarnabasNode, bytes]]:
    node = BarnabasNode(tmp_path_factory.mktemp("amplified"))
    at = node.command.index("barnabas.cli.main")
    node.command[at : at + 1] = ["tests.support.measured_node", str(held_file(node))]
    node.env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    try:
        node.start()
        with WireClient(node.bootstrap) as client:
            create_topic(client, TOPIC)
            await_group_coordinator(client)
            asked = [{"name": TOPIC, "topic_id": bytes(16)}]
            body = {"topics": asked, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
            found = client.call(METADATA, 12, body)["topics"][0]["topic_id"]
            for api in served_with_arrays():  # what is imported and compiled once is not the request's cost
                for case in cases(api, 200, elements_max(api.key), found) if api.name not in NOT_ASKED else ():
                    ask(client.address, case)
        time.sleep(3)  # what that held is written down
        yield node, found
        assert node.alive(), f"the node died\n{node.tail()}"
        assert "Traceback" not in node.tail(100_000)
    finally:
        node.stop()


def ask(address: tuple[str, int], case: Case) -> int:
    """Bytes of the answer; 0 when the connection was closed instead."""
    with socket.create_connection(address, 60) as client:
        try:
            client.sendall(case.frame)
            head = client.recv(4, socket.MSG_WAITALL)
            if len(head) < 4:
                return 0
            left = size = struct.unpack(">i", head)[0]
            while left:
                left -= len(client.recv(min(left, MIB)))
        except ConnectionError:
            return 0
    return int(size)


class GoodClient(threading.Thread):
    """Asks for versions again and again and notes the longest it had to wait."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.client = WireClient(bootstrap, 60)
        self.waits: list[float] = []
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.is_set():
            began = time.perf_counter()
            self.client.call(API_VERSIONS, 0, {})
            self.waits.append(time.perf_counter() - began)
            self.done.wait(0.005)


def held_file(node: BarnabasNode) -> Path:
    return node.data.parent / "held"


@pytest.mark.parametrize("name", [api.name for api in served_with_arrays() if api.name not in NOT_ASKED])
def test_what_one_request_costs(name: str, target: tuple[BarnabasNode, bytes]) -> None:
    asked_for_much(name, target, SIZE)


@pytest.mark.parametrize("name", NAMED_BY_CLIENTS)
def test_what_the_longest_request_costs(name: str, target: tuple[BarnabasNode, bytes]) -> None:
    asked_for_much(name, target, LONGEST)


def asked_for_much(name: str, target: tuple[BarnabasNode, bytes], size_bytes: int) -> None:
    node, topic_id = target
    api = next(api for api in SERVED.values() if api.name == name)
    ceiling = CEILINGS.get(name, Ceiling())
    before = held_file(node).stat().st_size
    good = GoodClient(node.bootstrap)
    good.start()
    worst = []
    try:
        for case in cases(api, size_bytes, elements_max(api.key), topic_id):
            size = len(case.frame)
            (_reset_peak(node), time.sleep(0.02))
            cpu, memory = node.cpu_seconds(), node.rss_bytes()
            answered = ask(good.client.address, case)
            spent, grown = node.cpu_seconds() - cpu, _peak(node) - memory
            worst.append(f"{case.name}: {spent:.2f} s of CPU, {answered} bytes answered, {grown / MIB:.0f} MiB")
            assert spent <= 0.1 + ceiling.cpu_seconds_per_mib * size / MIB, worst[-1]
            assert answered <= 65_536 + ceiling.answer_per_byte * size, worst[-1]
            assert grown <= 16 * MIB + ceiling.memory_per_byte * size, worst[-1]
    finally:
        good.done.set()
        good.join(60)
    assert good.waits, "the good client was not served at all"
    # A pass of the garbage collector belongs to whoever allocates next, not to this callback.
    held = measured_node.read(held_file(node), before)
    over = [each for each in held if each.milliseconds - each.collecting_ms > ceiling.hold_ms]
    assert not over, "\n".join([*map(str, over), *worst])


def _reset_peak(node: BarnabasNode) -> None:
    with open(f"/proc/{node.pid}/clear_refs", "w") as file:
        file.write("5")


def _peak(node: BarnabasNode) -> int:
    with open(f"/proc/{node.pid}/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def test_every_api_with_a_list_is_asked() -> None:
    assert len(served_with_arrays()) >= 45
    assert GROUP and {api.name for api in served_with_arrays()} >= CEILINGS.keys()
