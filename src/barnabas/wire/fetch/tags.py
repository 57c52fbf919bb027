"""The tagged fields of a Fetch answer (KIP-482), rare and therefore apart from answer.py.

Of a partition: 0 the diverging epoch (KIP-595), 1 the current leader (KIP-595, for clients KIP-951), 2 a snapshot
(KIP-630). Of the answer: 0 the addresses of the leaders named (KIP-951).
"""

from collections.abc import Sequence
from struct import Struct

from barnabas.wire.varints import uvarint_bytes

_EPOCH_AND_OFFSET = Struct(">iqB")
_LEADER = Struct(">iiB")
_OFFSET_AND_EPOCH = Struct(">qiB")
_INT32 = Struct(">i")


def partition_tags(
    diverging_epoch: tuple[int, int] | None,
    current_leader: tuple[int, int] | None,
    snapshot_id: tuple[int, int] | None,
) -> bytes:
    """The tag section of one partition; each value is a struct that ends in its own empty tag section."""
    tags = []
    for number, layout, value in (
        (0, _EPOCH_AND_OFFSET, diverging_epoch),
        (1, _LEADER, current_leader),
        (2, _OFFSET_AND_EPOCH, snapshot_id),
    ):
        if value is not None:
            tags.append(bytes((number, layout.size)) + layout.pack(*value, 0))
    return bytes((len(tags),)) + b"".join(tags)


def endpoint_tags(endpoints: Sequence[tuple[int, str, int, str | None]]) -> bytes:
    """The tag section of the answer: (node id, host, port, rack) of each leader a client may not know yet."""
    if not endpoints:
        return b"\x00"
    body = bytearray(uvarint_bytes(len(endpoints) + 1))
    for node_id, host, port, rack in endpoints:
        body += _INT32.pack(node_id)
        body += _compact(host)
        body += _INT32.pack(port)
        body += b"\x00" if rack is None else _compact(rack)
        body.append(0)
    return b"\x01\x00" + uvarint_bytes(len(body)) + bytes(body)


def _compact(text: str) -> bytes:
    encoded = text.encode()
    return uvarint_bytes(len(encoded) + 1) + encoded
