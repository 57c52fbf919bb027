"""L1: whatever a promotion said to be at the target is there, as it was at the source, and stays there; none of it is
there twice.

Compared batch by batch when the topic is promoted, and at the end with what producers of the source were told. All the
time a log of the target begins no later than that of the source: what the source has not deleted must not be passed
over. That records of the target's own producers stay, and that nobody's are there twice, H1 and H2 find in the target.
"""

from collections.abc import Iterator

from barnabas.sim import inspection
from barnabas.sim.checkers.base import Final
from barnabas.sim.checkers.linked.logs import log_of
from barnabas.sim.history import Partition
from barnabas.sim.linked.pair import Pair, Phase


class NothingPassedOver:
    """Looks at where the logs begin while the link is followed. What was asked to be deleted is the bound: a source
    that is killed may forget that it was, as in Kafka, after the target has heard of it."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self.problems: list[str] = []

    def look(self, number: int) -> None:
        pair = self._pair
        if pair.phase is Phase.LINKED:
            for computer in pair.target.computers:
                for replica in inspection.replicas(computer):
                    place: Partition = (replica.id.topic, replica.id.partition)
                    start, deleted = replica.log.log_start_offset, pair.deleted_to.get(place, 0)
                    if start > deleted and not place[0].startswith("__"):
                        self._problem(f"{place}: begins at {start} in the target, deleted were those before {deleted}")

    def _problem(self, text: str) -> None:
        if f"L1 {text}" not in self.problems:
            self._pair.target.trace.note(f"PROBLEM {text}")
            self.problems.append(f"L1 {text}")


def when_drained(pair: Pair, partitions: list[Partition]) -> Iterator[str]:
    """What was deleted at the source is deleted at the target. A kill may bring some of it back there, as in Kafka."""
    for partition in partitions:
        there, here = log_of(pair.source, partition), log_of(pair.target, partition)
        if there is not None and here is not None and there.start > here.start and not pair.lost(partition):
            yield f"L1 {partition}: begins at {here.start} in the target, at {there.start} in the source"


def at_promotion(pair: Pair, partitions: list[Partition]) -> Iterator[str]:
    """Where both logs can be seen: a node of the source may be down."""
    for partition in partitions:
        said = pair.promised.get(partition)
        there, here = log_of(pair.source, partition), log_of(pair.target, partition)
        if said is None or there is None or here is None or pair.lost(partition):
            continue
        if pair.canonical_id(pair.source, partition[0]) != pair.canonical_id(pair.target, partition[0]):
            continue  # the source has made it anew, and the link had not heard of that
        start = max(there.start, min(there.batches, default=there.start))
        for base, batch in there.batches.items():
            if base < start or base < here.start or batch.next_offset > said:
                continue
            if (found := here.batches.get(base)) != batch:
                what = "missing" if found is None else "another batch"
                yield f"L1 {partition}: {what} at {base}, though promote said that all below {said} is there"
                break
        ends = [batch.next_offset for batch in there.batches.values() if not batch.is_control]
        if pair.planned and max(ends, default=0) > said:  # a transaction that timed out since has a marker there
            yield f"L1 {partition}: promoted at {said}, the source ends at {there.high_watermark}"


def check(pair: Pair, target: Final) -> Iterator[str]:
    there = {partition: dict(records) for partition, records in target.everything.items()}
    for sent in pair.source.history.sent:
        if sent.acked_at is None or sent.partition not in there or pair.lost(sent.partition):
            continue
        for i, value in enumerate(sent.values):
            offset = sent.base_offset + i
            if offset < pair.promised.get(sent.partition, 0) and there[sent.partition].get(offset) != value:
                found = there[sent.partition].get(offset)
                yield (
                    f"L1 {sent.partition}: {value!r}, acknowledged by the source with offset {offset}, is not in the "
                    f"target ({'nothing' if found is None else repr(found)} is); promote said {pair.promised}"
                )
                break
