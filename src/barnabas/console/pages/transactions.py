"""Transactions: which are open, since when, by whom and where; which of them hang; ending one.

While a transaction is open, readers with read_committed wait at its first record. One that its coordinator knows is
ended by claiming its id, which fences its program. One that hangs is open in a partition and nobody will end it: an
abort marker is written there, and only after it has been found to hang once more.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import msgspec

from barnabas.console.clusters import transactions as reading
from barnabas.console.problems import NotFound, Problem, refused
from barnabas.console.web.calls import Call, Route
from barnabas.link import transactions
from barnabas.link.errors import UnknownApi
from barnabas.link.transactions import PLAIN_TIMEOUT_MS, Claim, Described, Hanging
from barnabas.wire.apis import INIT_PRODUCER_ID, WRITE_TXN_MARKERS

if TYPE_CHECKING:
    from barnabas.wire.messages import InitProducerIdResponse, WriteTxnMarkersResponse

_FIRST_LOOK_SECONDS = 5.0
_DESCRIBED_MAX = 2_000
_PATIENCE_SECONDS = 20.0
_PAUSE_SECONDS = 0.1
LONGER_THAN_SECONDS = 900  # transaction.max.timeout.ms: a coordinator has ended every younger one, or will


async def list_transactions(call: Call) -> object:
    await call.connection.observer.first_look(_FIRST_LOOK_SECONDS)
    up = [each.id for each in call.facts.nodes.values() if not each.fenced]
    found = await reading.read_listed(call.nodes, up, call.flag("ended"))
    if up and len(found.cannot) == len(up):
        raise UnknownApi("no node lists transactions: it is older than Kafka 3.0")
    if up and len(found.silent) == len(up):
        raise Problem("no node lists its transactions now", "Nodes that have just started read them first.", 503)
    shown = sorted(found.listed, key=lambda each: each.state not in transactions.OPEN_STATES)[:_DESCRIBED_MAX]
    details = await reading.read_described(call.nodes, shown)
    return {
        "silent": found.silent,
        "transactions": [_row(each, details.get(each.transactional_id)) for each in found.listed],
    }


def _row(listed: reading.Listed, details: Described | None) -> dict[str, object]:
    return {
        "id": listed.transactional_id,
        "coordinator": listed.coordinator,
        "producer_id": listed.producer_id,
        "state": details.state if details else listed.state,
        "open": (details.state if details else listed.state) in transactions.OPEN_STATES,
        "producer_epoch": details.producer_epoch if details else None,
        "timeout_ms": details.timeout_ms if details else None,
        "started_ms": details.started_ms if details else None,
        "age": details.age_seconds if details else None,
        "partitions": details.partitions if details else [],
    }


async def list_hanging(call: Call) -> object:
    """A question to every leader about every partition: asked by a button, not with each look."""
    await call.connection.observer.first_look(_FIRST_LOOK_SECONDS)
    longer_than = call.number("longer_than", LONGER_THAN_SECONDS, 0, 10**9)
    found, partitions = await reading.find_hanging(call.nodes, call.facts, longer_than * 1000)
    return {
        "at": time.time(),
        "partitions": partitions,
        "hanging": [_hanging(each) for each in found],
    }


def _hanging(each: Hanging) -> dict[str, object]:
    return {
        "topic": each.topic,
        "partition": each.partition,
        "start_offset": each.start_offset,
        "producer_id": each.producer_id,
        "producer_epoch": each.producer_epoch,
        "idle": each.idle_seconds,
        "id": each.transactional_id,
        "why": each.why,
    }


class _ById(msgspec.Struct):
    id: str
    producer_id: int
    started_ms: int | None


async def abort(call: Call) -> object:
    """The transaction that was shown, not one that has begun since."""
    asked = await call.body(_ById)
    call.names.append(asked.id)
    found = await reading.read_one(call.nodes, asked.id)
    if found is None:
        raise NotFound(f"there is no transactional id {asked.id!r}")
    if found.producer_id != asked.producer_id or found.started_ms != asked.started_ms:
        raise Problem(f"the transaction of {asked.id} that was shown has ended", "Another one has begun since.", 409)
    if found.state != "Ongoing":
        decided = "is decided already" if found.is_open else "has ended"
        raise Problem(f"the transaction of {asked.id} {decided} ({found.state})", "There is nothing to abort.", 409)
    await _claim(call, found)
    return {"aborted": asked.id}


async def _claim(call: Call, found: Described) -> None:
    timeout_ms, deadline = found.timeout_ms, time.monotonic() + _PATIENCE_SECONDS
    while True:
        body = {"transactional_id": found.transactional_id, "transaction_timeout_ms": timeout_ms}
        answer: InitProducerIdResponse = await call.nodes.ask(found.coordinator, INIT_PRODUCER_ID, body)
        step = transactions.claimed(answer.error_code, timeout_ms)
        if step is Claim.DONE:
            return
        if step is Claim.REFUSED:
            raise refused(answer.error_code, f"abort the transaction of {found.transactional_id}")
        if step is Claim.PLAIN_TIMEOUT:
            timeout_ms = PLAIN_TIMEOUT_MS
        elif time.monotonic() > deadline:
            raise Problem(
                f"the transaction of {found.transactional_id} is not ended after {_PATIENCE_SECONDS:.0f} s",
                "It is being ended: a partition may be without a leader.",
                504,
            )
        await asyncio.sleep(_PAUSE_SECONDS)


class _ByPlace(msgspec.Struct):
    topic: str
    partition: int
    start_offset: int
    producer_id: int
    producer_epoch: int


async def abort_hanging(call: Call) -> object:
    asked = await call.body(_ByPlace)
    where = f"{asked.topic}-{asked.partition}"
    call.names.append(f"{where} at {asked.start_offset}, producer {asked.producer_id}")
    leader = reading.leaders_of(call.facts, asked.topic).get((asked.topic, asked.partition))
    if leader is None:
        raise NotFound(f"there is no {where} with a leader")
    writers = await reading.read_writers(call.nodes, {(asked.topic, asked.partition): leader})
    writer = next((each for each in writers if each.start_offset == asked.start_offset), None)
    if writer is None or (writer.producer_id, writer.producer_epoch) != (asked.producer_id, asked.producer_epoch):
        raise Problem(f"the transaction at offset {asked.start_offset} of {where} has ended", status=409)
    if not await reading.judge(call.nodes, call.facts, [writer], 0):
        raise Problem(f"the transaction at offset {asked.start_offset} of {where} does not hang",
                      "Its coordinator counts it in: abort it by its id.", 409)  # fmt: skip
    answer: WriteTxnMarkersResponse = await call.nodes.ask(leader, WRITE_TXN_MARKERS, transactions.abort_marker(writer))
    if code := transactions.marker_error(answer):
        raise refused(code, f"write an abort marker to {where}")
    return {"aborted": where}


ROUTES = [
    Route("GET", "/transactions", list_transactions),
    Route("GET", "/transactions/hanging", list_hanging),
    Route("POST", "/transactions/abort", abort, change="abort a transaction"),
    Route("POST", "/transactions/abort-hanging", abort_hanging, change="abort a hanging transaction"),
]
