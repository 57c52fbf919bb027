"""PartitionRecord and PartitionChangeRecord of the metadata log, by one `struct` call each.

A metadata log is made of these two, tens of thousands at a start, and most of them have the same shape: as many
replicas, the same fields changed. A shape (`_Layout`) is the format of the whole record with the bytes that make the
shape, lengths and tags, among its values; a record is of that shape when these bytes are the expected ones. Shapes are
learnt from records that were read the general way (record_codec.py) and found by the length of the record. What has
more than 126 replicas, or tagged fields that we do not write, always goes the general way.
"""

from collections.abc import Callable
from functools import cache
from operator import itemgetter
from struct import Struct
from typing import Generic, TypeAlias, TypeVar

from barnabas.core.cluster.records import PartitionChange, PartitionRecord
from barnabas.wire.codec import encode_struct

FRAME_VERSION = 1
PARTITION, PARTITION_CHANGE = 3, 5
NO_LEADER_CHANGE = -2
_VERSION = 2  # of both: with eligible leader replicas and directories
_PARTITION_FRAME = bytes((FRAME_VERSION, PARTITION, _VERSION))
_CHANGE_FRAME = bytes((FRAME_VERSION, PARTITION_CHANGE, _VERSION))
_SMALL = 126  # an array of so many has its length, plus one, in one byte
_FEW = 31  # replicas whose ids take less than 128 bytes, so that their size is one byte too
_LENGTHS_MAX, _SHAPES_MAX = 256, 4  # a cluster has a dozen lengths of one or two shapes; others go the general way
R = TypeVar("R", PartitionRecord, PartitionChange)
_LISTS = (  # of a change, in the order of their tags; the leader is tag 1
    (0, "isr"),
    (2, "replicas"),
    (3, "removing_replicas"),
    (4, "adding_replicas"),
    (6, "elr"),
    (7, "last_known_elr"),
    (8, "directories"),
)


class _Layout(Generic[R]):
    """The shape of a record: its format, which of its values must be what, and what makes the record of them."""

    __slots__ = ("expected", "make", "skeleton", "struct")

    def __init__(self, kind: type[R], letters: list[str], skeleton: dict[int, int | bytes], fields: list[str]) -> None:
        """`fields`: arguments of the record, as Python text over `f`, the values. Only numbers of ours are in it."""
        self.struct = Struct(">" + "".join(letters))
        self.skeleton = itemgetter(*skeleton)
        self.expected = tuple(skeleton.values())
        arguments = ", ".join(("partition=f[1]", "topic_id=f[2]", *fields))
        self.make: Callable[[tuple[object, ...]], R] = eval(f"lambda f: kind({arguments})", {"kind": kind})  # noqa: S307


_Known: TypeAlias = _Layout[PartitionRecord] | _Layout[PartitionChange]
_layouts: dict[int, tuple[_Known, ...]] = {}  # by the length of the record


def decode_known(data: bytes) -> PartitionRecord | PartitionChange | None:
    """None where it is neither a partition nor a change of one, or of a shape that is not known."""
    for layout in _layouts.get(len(data), ()):
        found = layout.struct.unpack(data)
        if layout.skeleton(found) == layout.expected:
            return layout.make(found)
    return None


def remember(record: PartitionRecord | PartitionChange, data: bytes) -> None:
    """Records like this one are read by their shape from now on."""
    known = _layouts.get(len(data), ())
    if len(known) == _SHAPES_MAX or len(_layouts) == _LENGTHS_MAX:
        return
    layout: _Known | None
    layout = _partition_layout(record) if isinstance(record, PartitionRecord) else _change_layout(record)
    if layout is not None and layout.struct.size == len(data):
        _layouts[len(data)] = (*known, layout)


def _partition_layout(record: PartitionRecord) -> _Layout[PartitionRecord] | None:
    lists = (record.replicas, record.isr, record.removing_replicas, record.adding_replicas, record.directories)
    if record.elr or record.last_known_elr or max(map(len, lists)) > _SMALL:
        return None
    letters = ["3s", "i", "16s"]
    skeleton: dict[int, int | bytes] = {0: _PARTITION_FRAME}
    fields: list[str] = []
    names = ("replicas", "isr", "removing_replicas", "adding_replicas", "directories")
    for name, each in zip(names, lists, strict=True):
        if name == "directories":
            at = len(letters)
            fields += [f"leader=f[{at}]", f"leader_epoch=f[{at + 1}]", f"partition_epoch=f[{at + 2}]"]
            letters += ["i", "i", "i"]
        skeleton[len(letters)] = len(each) + 1
        letters.append("B")
        fields.append(f"{name}=f[{len(letters)}:{len(letters) + len(each)}]")
        letters += ["16s" if name == "directories" else "i"] * len(each)
    skeleton[len(letters)] = 0  # no tagged fields
    letters.append("B")
    return _Layout(PartitionRecord, letters, skeleton, fields)


def _change_layout(record: PartitionChange) -> _Layout[PartitionChange] | None:
    letters = ["3s", "i", "16s", "B"]
    skeleton: dict[int, int | bytes] = {0: _CHANGE_FRAME}
    fields: list[str] = []
    for tag, name in sorted((*_LISTS, (1, "leader"))):
        value = getattr(record, name)
        if value is None:
            continue
        width = 16 if name == "directories" else 4
        size = 4 if tag == 1 else 1 + width * len(value)
        if size > 127:
            return None
        skeleton[len(letters)], skeleton[len(letters) + 1] = tag, size
        letters += ["B", "B"]
        if tag == 1:
            fields.append(f"{name}=f[{len(letters)}]")
            letters.append("i")
            continue
        skeleton[len(letters)] = len(value) + 1
        letters.append("B")
        fields.append(f"{name}=f[{len(letters)}:{len(letters) + len(value)}]")
        letters += ["16s" if width == 16 else "i"] * len(value)
    skeleton[3] = len(fields)
    return _Layout(PartitionChange, letters, skeleton, fields)


# --- writing ----------------------------------------------------------------------------------------------------------


@cache
def _partition_format(replicas: int, isr: int, removing: int, adding: int, directories: int) -> Struct:
    return Struct(f">3si16s B{replicas}i B{isr}i B{removing}i B{adding}i iii B{'16s' * directories} B")


def encode_partition(record: PartitionRecord) -> bytes:
    replicas, isr, directories = record.replicas, record.isr, record.directories
    removing, adding = record.removing_replicas, record.adding_replicas
    r, i, m, a, d = len(replicas), len(isr), len(removing), len(adding), len(directories)
    if max(r, i, m, a, d) > _SMALL or record.elr or record.last_known_elr:
        return _encode_large_partition(record)
    return _partition_format(r, i, m, a, d).pack(
        _PARTITION_FRAME,
        record.partition,
        record.topic_id,
        r + 1,
        *replicas,
        i + 1,
        *isr,
        m + 1,
        *removing,
        a + 1,
        *adding,
        record.leader,
        record.leader_epoch,
        record.partition_epoch,
        d + 1,
        *directories,
        0,
    )


def _encode_large_partition(record: PartitionRecord) -> bytes:
    body = {
        "partition_id": record.partition,
        "topic_id": record.topic_id,
        "replicas": record.replicas,
        "isr": record.isr,
        "removing_replicas": record.removing_replicas,
        "adding_replicas": record.adding_replicas,
        "leader": record.leader,
        "leader_epoch": record.leader_epoch,
        "partition_epoch": record.partition_epoch,
        "directories": record.directories,
        "eligible_leader_replicas": record.elr or None,
        "last_known_elr": record.last_known_elr or None,
    }
    return _PARTITION_FRAME + encode_struct("metadata/partition_record", _VERSION, body)


def encode_change(record: PartitionChange) -> bytes:
    isr, leader, elr, last_known = record.isr, record.leader, record.elr, record.last_known_elr
    if (
        record.directories is not None
        or record.replicas is not None
        or record.adding_replicas is not None
        or record.removing_replicas is not None
        or len(isr or ()) > _FEW
        or len(elr or ()) > _FEW
        or len(last_known or ()) > _FEW
    ):
        return _encode_large_change(record)
    values: list[object] = [_CHANGE_FRAME, record.partition, record.topic_id, 0]
    i = e = k = -1
    if isr is not None:
        i = len(isr)
        values += (0, 1 + 4 * i, 1 + i, *isr)
    if leader is not None:
        values += (1, 4, leader)
    if elr is not None:
        e = len(elr)
        values += (6, 1 + 4 * e, 1 + e, *elr)
    if last_known is not None:
        k = len(last_known)
        values += (7, 1 + 4 * k, 1 + k, *last_known)
    values[3] = (i >= 0) + (leader is not None) + (e >= 0) + (k >= 0)
    return _change_format(i, leader is not None, e, k).pack(*values)


def _encode_large_change(record: PartitionChange) -> bytes:
    body: dict[str, object] = {"partition_id": record.partition, "topic_id": record.topic_id}
    body |= {_KAFKA_NAMES.get(name, name): getattr(record, name) for _, name in _LISTS}
    body["leader"] = NO_LEADER_CHANGE if record.leader is None else record.leader
    return _CHANGE_FRAME + encode_struct("metadata/partition_change_record", _VERSION, body)


@cache
def _change_format(isr: int, leader: bool, elr: int, last_known: int) -> Struct:
    """-1: not there."""
    lists = [f"BBB{count}i" if count >= 0 else "" for count in (isr, elr, last_known)]
    return Struct(">3si16sB" + lists[0] + ("BBi" if leader else "") + lists[1] + lists[2])


_KAFKA_NAMES = {"elr": "eligible_leader_replicas"}
