"""L7: what the former source had acknowledged on its own, and a reverse cut off, lies in `link-cut` of one of its
machines, in the format of a segment."""

from collections.abc import Iterator

from barnabas.broker.cluster_links.linked_log import CUT_FOLDER
from barnabas.sim.checkers.linked.logs import in_file, log_of, values_in
from barnabas.sim.history import Partition
from barnabas.sim.linked.pair import Pair
from barnabas.sim.platter import File, Folder


def common_ends(pair: Pair, partitions: list[Partition]) -> dict[Partition, int]:
    """Where the two logs part: the end of the last batch that both have."""
    found: dict[Partition, int] = {}
    for partition in partitions:
        there, here = log_of(pair.source, partition), log_of(pair.target, partition)
        if there is not None and here is not None:
            end = min(max(there.start, here.start), here.high_watermark)  # all that the target has may be deleted there
            for base, batch in sorted(there.batches.items()):
                if batch.next_offset > end:
                    if here.batches.get(base) != batch:
                        break
                    end = batch.next_offset
            found[partition] = end
    return found


def check(pair: Pair) -> Iterator[str]:
    kept = set(_kept(pair))
    for sent in pair.source.history.sent:
        common = pair.common.get(sent.partition)
        if sent.acked_at is None or common is None or sent.base_offset < common:
            continue
        if pair.source.losses.lost_on_disk(sent.partition):
            continue
        for i, value in enumerate(sent.values):
            if (sent.partition, sent.base_offset + i, value) not in kept:
                yield (
                    f"L7 {sent.partition}: {value!r}, acknowledged by the source with offset {sent.base_offset + i}, "
                    f"was cut off at {common} and is not in {CUT_FOLDER}"
                )
                break


def _kept(pair: Pair) -> Iterator[tuple[Partition, int, bytes]]:
    for computer in pair.source.computers:
        folder = computer.platter.find(f"{computer.data_dir}/{CUT_FOLDER}")
        for name, inner in folder.live.items() if isinstance(folder, Folder) else ():
            topic, index, _, _ = name.rsplit("-", 3)  # the last one may have a number behind it
            for file in inner.live.values() if isinstance(inner, Folder) else ():
                for header, data in in_file(file.live) if isinstance(file, File) else ():
                    for offset, value in values_in(header, data):
                        yield (topic, int(index)), offset, value
