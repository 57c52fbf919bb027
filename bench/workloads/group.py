"""A new group's first record: from subscribe to the first record in hand, alone and with members that arrive together.

When members arrive together, each should be given its partitions once: every further assignment is an extra rebalance.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..clients import consumer, create_topic, delete_topic, new_group, producer
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..workload import RunResult, Workload

SETTLE_S = 1.0  # after the last first record, to see rebalances that come late


@dataclass(frozen=True, slots=True)
class GroupCase:
    members: int

    @property
    def label(self) -> str:
        return f"{self.members} members together" if self.members > 1 else "1 member"


@dataclass(slots=True)
class Member:
    first_record_s: float = 0.0
    assignments: int = 0
    problem: str = ""
    done: threading.Event = field(default_factory=threading.Event)


class Group(Workload[GroupCase]):
    name = "group"
    title = "A new consumer group"
    warm_up = 0
    measures = (
        Measure("first_record_s", "first record", "s", Better.LOWER, value_goal=0.5, digits=3),
        Measure("extra_rebalances", "extra rebalances", "", Better.LOWER, value_goal=0, digits=0),
    )

    def cases(self) -> Sequence[GroupCase]:
        return [GroupCase(1), GroupCase(4)]

    def prepare(self, server: Server, case: GroupCase, options: Options) -> None:
        name = self.state[server.name, case.label] = create_topic(server.bootstrap, case.members)
        client = producer(server.bootstrap)
        for partition in range(case.members):
            client.produce(name, b"first", partition=partition)
        if client.flush(30):
            raise TimeoutError("records are not acknowledged after 30 s")
        if case.members == 1:  # the first group of all makes the server create its offsets topic
            self.run(server, case, options)

    def finish(self, server: Server) -> None:
        for (owner, _), name in self.state.items():
            if owner == server.name:
                delete_topic(server.bootstrap, name)

    def run(self, server: Server, case: GroupCase, options: Options) -> RunResult:
        name, group = self.state[server.name, case.label], new_group()
        members = [Member() for _ in range(case.members)]
        stop = threading.Event()
        threads = [
            threading.Thread(target=_take_part, args=(server.bootstrap, name, group, member, stop))
            for member in members
        ]
        meter = Meter(server)
        for thread in threads:
            thread.start()
        late = [member for member in members if not member.done.wait(60)]
        result = meter.stop()
        stop.wait(SETTLE_S if case.members > 1 else 0)
        stop.set()
        for thread in threads:
            thread.join()
        if late or any(member.problem for member in members):
            raise RuntimeError(next((m.problem for m in members if m.problem), "a member got no record in 60 s"))
        return result | {
            "first_record_s": round(max(member.first_record_s for member in members), 4),
            "extra_rebalances": max(member.assignments for member in members) - 1,
        }


def _take_part(bootstrap: str, name: str, group: str, member: Member, stop: threading.Event) -> None:
    client = consumer(bootstrap, group_id=group)

    def assigned(*_: object) -> None:
        member.assignments += 1

    begin = time.perf_counter()
    client.subscribe([name], on_assign=assigned)
    while not stop.is_set():
        message = client.poll(0.05)
        if message is None:
            continue
        if message.error():
            member.problem = str(message.error())
        elif not member.done.is_set():
            member.first_record_s = time.perf_counter() - begin
            member.done.set()
    client.close()
