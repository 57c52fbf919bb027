"""Where each record begins. Only the record before says so: its length is a varint in front of it.

Three gaits, all of them exact:

- lockstep, when a chunk holds many batches: one step in every batch at a time, so that numpy takes many records with
  each call. A table gives the stride for the first two bytes of a record (lengths up to 8191).
- runs, when records have the same length: if the bytes of the length are found again one stride further, and again one
  further, that is where records begin. A look along the stride settles thousands at once.
- one by one, in Python, for what is left.

Refuses a batch whose records do not end exactly where it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol

import numpy as np

from barnabas.pipelines.common.arrays import Bytes, Ints, Words
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import RECORD_MIN_BYTES
from barnabas.wire.varints import read_varint

ENOUGH_LANES = 10  # from here on a step of numpy in all batches costs less than a step of Python in each
ENOUGH_RUN = 16
LONGEST_PAUSE = 4096
_FAR_AWAY = 1 << 40  # the stride of a length that the table does not know: the next step falls off the buffer


class Stretch(Protocol):
    """The records of a batch within a buffer."""

    start: int
    end: int

    @property
    def count(self) -> int: ...


def walk(data: Bytes, stretches: Sequence[Stretch]) -> Ints:
    """The position of every record, stretch by stretch; `data` is a numpy array of bytes."""
    total = 0
    for each in stretches:
        if each.count < 0 or each.count * RECORD_MIN_BYTES > each.end - each.start:
            raise ProtocolError(f"{each.count} records in {each.end - each.start} bytes")
        total += each.count
    longest = max((each.count for each in stretches), default=0)
    in_step = len(stretches) >= ENOUGH_LANES and longest * len(stretches) <= 4 * total
    if in_step and not _alike(data, stretches[0]):
        found = _lockstep(data, stretches, longest)
        if found is not None:
            return found
    parts = [part for each in stretches for part in _along(data, each)]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _lockstep(data: Bytes, stretches: Sequence[Stretch], longest: int) -> Ints | None:
    """None when a record is too long for the table, or something is wrong that the slower gait will name."""
    strides = _strides()
    words = two_bytes(data)
    counts = np.array([each.count for each in stretches])
    order = np.argsort(-counts, kind="stable")
    still = np.searchsorted(-counts[order], -np.arange(longest), side="left")  # lanes that have a record in each round
    at = np.array([each.start for each in stretches])[order]
    steps = np.empty((longest, len(stretches)), np.int64)
    ends = at.copy()
    active = len(at)
    try:
        for number in range(longest):
            if still[number] != active:
                ends[still[number] : active] = at[still[number] :]
                active = still[number]
                at = at[:active]
            steps[number, :active] = at
            at = at + strides[words[at]]
    except IndexError:
        return None
    ends[:active] = at
    if (ends != np.array([each.end for each in stretches])[order]).any():
        return None
    lanes = np.empty_like(order)
    lanes[order] = np.arange(len(order))
    return steps.T[lanes][np.arange(longest)[None, :] < counts[:, None]]


def two_bytes(data: Bytes) -> Words:
    """The two bytes at every position, as little-endian words that overlap; nothing is copied."""
    return np.ndarray((max(0, len(data) - 1),), "<u2", data, 0, (1,))


@cache
def _strides() -> Ints:
    """From the first two bytes of a record (as a little-endian word) to the distance to the next one."""
    words = np.arange(1 << 16)
    first, second = words & 0xFF, words >> 8
    one = first < 0x80
    length = np.where(one, first, (first & 0x7F) | second << 7)
    stride = np.where(one, 1, 2) + (length >> 1)
    known = (one | (second < 0x80)) & (length & 1 == 0)  # an odd length is negative in zigzag
    return np.where(known, stride, _FAR_AWAY)


def _alike(data: Bytes, stretch: Stretch) -> bool:
    """Whether the records of a batch have runs that are worth a look."""
    if stretch.count < 4 * ENOUGH_RUN:
        return False
    try:
        return _run(data, data.data, stretch.start, stretch.end, stretch.count)[0] >= 4 * ENOUGH_RUN
    except IndexError:
        return False


def _along(data: Bytes, stretch: Stretch) -> list[Ints]:
    parts: list[Ints] = []
    position, left, pause = stretch.start, stretch.count, ENOUGH_RUN
    view = data.data
    try:
        while left:
            run, stride = _run(data, view, position, stretch.end, left) if left > 4 * ENOUGH_RUN else (0, 0)
            if run:
                parts.append(np.arange(position, position + run * stride, stride))
                position += run * stride
                left -= run
            pause = ENOUGH_RUN if run >= ENOUGH_RUN else min(4 * pause, LONGEST_PAUSE)
            singly = left if left <= 4 * ENOUGH_RUN else min(left, pause)
            starts: list[int] = []
            position = _one_by_one(view, position, singly, starts)
            parts.append(np.array(starts, np.int64))
            left -= singly
    except IndexError:
        raise ProtocolError("a record is cut") from None
    if position != stretch.end:
        raise ProtocolError(f"the records of a batch end at {position}, not at {stretch.end}")
    return parts


def _run(data: Bytes, view: memoryview, position: int, end: int, left: int) -> tuple[int, int]:
    """How many records from here on have the length of this one, and the distance between them."""
    size, after = read_varint(view, position)
    stride = after - position + size
    width = after - position
    most = min(left, (end - position) // stride) if size >= 0 else 0
    looked, piece = 0, 64
    while looked < most:
        count = min(piece, most - looked)
        begin = position + looked * stride
        rows = data[begin : begin + count * stride].reshape(count, stride)[:, :width]
        other = np.flatnonzero((rows != data[position:after]).any(axis=1))
        if len(other):
            return looked + int(other[0]), stride
        looked += count
        piece *= 8
    return most, stride


def _one_by_one(view: memoryview, position: int, count: int, starts: list[int]) -> int:
    append = starts.append
    for _ in range(count):
        append(position)
        byte = view[position]
        if byte < 0x80:
            size = byte
            position += 1
        else:
            second = view[position + 1]
            if second < 0x80:
                size = byte & 0x7F | second << 7
                position += 2
            else:
                length, position = read_varint(view, position)
                size = 2 * length
        if size & 1 or size < 0:
            raise ProtocolError("a record of negative length")
        position += size >> 1
    return position
