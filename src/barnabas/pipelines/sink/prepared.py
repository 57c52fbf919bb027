"""An open transaction as it travels from a task to the driver, and what a coordinator's answer says about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.link.codes import name_of
from barnabas.model.errors import ErrorCode
from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from barnabas.wire.messages import EndTxnResponse, InitProducerIdResponse

LEAST_LEFT_MS = 20_000  # a transaction that times out sooner is not decided on

FENCED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_ID_MAPPING})


class Fenced(PipelineError):
    """Somebody else has the transactional id now."""


class Refused(PipelineError):
    """A topic does not take some of the records, and would not later; of others that is not said."""


class TooOld(PipelineError):
    """The cluster does not know the transactions of Kafka 4.0 (KIP-890)."""

    def __init__(self) -> None:
        super().__init__("the cluster is older than Kafka 4.0: delivery=at-least-once is what it can do")


class NotOpen(Exception):
    """The transaction cannot be ended as asked: it is not the open one of its id."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.code = code  # the coordinator's


@dataclass(frozen=True)
class Prepared:
    """An open transaction, complete but for its ending."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


@dataclass(frozen=True)
class Described:
    state: str
    producer_id: int
    producer_epoch: int
    left_ms: int | None  # until it times out; None: never
    open_ms: int  # how long it has been open


def ended(each: Prepared, answer: InitProducerIdResponse | EndTxnResponse) -> Prepared | NotOpen:
    """The answer to EndTxn and to InitProducerId: the producer that follows."""
    if answer.error_code:
        return NotOpen(f"{each.transactional_id}: {name_of(answer.error_code)}", answer.error_code)
    return Prepared(each.transactional_id, answer.producer_id, answer.producer_epoch)


def kept(each: Prepared, answer: InitProducerIdResponse) -> Prepared | NotOpen:
    """The answer to InitProducerId that keeps what is open: is that the transaction we mean?"""
    if answer.error_code:
        return NotOpen(f"{each.transactional_id}: {name_of(answer.error_code)}", answer.error_code)
    if (answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch) != (each.producer_id, each.producer_epoch):
        return NotOpen(f"{each.transactional_id} is no longer open")
    return Prepared(each.transactional_id, answer.producer_id, answer.producer_epoch)


def still_open(each: Prepared, known: Described | None) -> Prepared | NotOpen:
    mine = (each.producer_id, each.producer_epoch)
    if known is None or known.state != "Ongoing" or (known.producer_id, known.producer_epoch) != mine:
        return NotOpen(f"{each.transactional_id} is no longer open")
    if known.left_ms is not None and known.left_ms < LEAST_LEFT_MS:
        return NotOpen(f"{each.transactional_id} is about to time out")
    return each
