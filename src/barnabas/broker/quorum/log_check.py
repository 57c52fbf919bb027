"""Whether the metadata log of a node that is its whole quorum is damaged, told before the log is opened and cut there.

A crash may leave the last batch torn: it was not acknowledged, and goes. Damage with whole batches behind it is none of
a crash. They were acknowledged, and no other node has them: cut there, the node would come up without its topics.
A node with other voters is filled by them again.
"""

from barnabas.core.raft import VoterSet
from barnabas.core.raft.batches import voters_in
from barnabas.storage.damage import Damage, Damaged
from barnabas.storage.directory import DirectoryError
from barnabas.storage.disk import Disk
from barnabas.storage.walk import header_problem, scan
from barnabas.wire.batch import HEADER_BYTES, crc_matches, read_header

_SEARCHED_BYTES = 1024 * 1024  # behind the damage, byte by byte
_MAGIC_AT = 16
_MAGIC = b"\x02"


def refuse_damage(disk: Disk, folder: str, voters: VoterSet | None) -> None:
    """`voters` are those before the first batch of the log; the batches may name others."""
    if not disk.exists(folder):
        return
    sizes = {name: size for name, size in disk.scan(folder).items() if len(name) == 24 and name.endswith(".log")}
    for number, name in enumerate(sorted(sizes)):
        path, lowest = f"{folder}/{name}", int(name[:20])
        file = disk.open(path)
        try:
            for _, header, batch in scan(disk, file.fd, path, 0, sizes[name], lowest_offset=lowest):
                lowest = header.next_offset
                if header.is_control and (found := voters_in(batch)) is not None:
                    voters = found
        except Damaged as damaged:
            last = number == len(sizes) - 1
            if (voters is None or len(voters) <= 1) and (
                not last or _whole_batch_follows(disk, file.fd, damaged.damage, sizes[name], lowest)
            ):
                raise _refusal(damaged.damage) from None
            return


def _whole_batch_follows(disk: Disk, fd: int, damage: Damage, size: int, lowest: int) -> bool:
    start = damage.position
    data = disk.pread(fd, min(_SEARCHED_BYTES, size - start), start)
    magic = data.find(_MAGIC, _MAGIC_AT + 1)
    while magic >= 0 and magic - _MAGIC_AT + HEADER_BYTES <= len(data):
        at = magic - _MAGIC_AT
        header = read_header(memoryview(data), at)
        room = len(data) - at
        problem = header_problem(header.base_offset, header.size, header.magic, header.last_offset_delta, room, lowest)
        if problem is None and crc_matches(memoryview(data), at, header.size):
            return True
        magic = data.find(_MAGIC, magic + 1)
    return False


def _refusal(damage: Damage) -> DirectoryError:
    return DirectoryError(
        f"the metadata log is damaged: {damage}. No other node has what follows",
        "Put back a copy of the data folder (docs/operations.md, Restore). Nothing was changed.",
    )
