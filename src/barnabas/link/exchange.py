"""One connection to a node, without I/O: requests become bytes, received bytes become answers.

A driver writes what `request` gives and the body behind it, receives into `room()`, says how much with `received`, and
takes answers with `next_answer` until there is none. The rules:

- Answers come in the order of the requests (Kafka's protocol); one with another correlation id ends the connection,
  because nobody can tell any more which answer belongs to which request.
- The length of an answer is checked before anything is allocated.
- Small answers are received into one buffer and copied out of it. A large one is received straight into memory of its
  own, so its records are not copied again. `memory` says where: by default each large answer has its own; a driver that
  is done with an answer before it receives the next may reuse one block (`ReusedMemory`).

After NotKafka the connection is to be closed. `in_flight` then has the requests that nobody will answer.
"""

from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Generic, TypeVar

from barnabas.link.errors import NotKafka
from barnabas.wire.errors import ProtocolError
from barnabas.wire.frames import LENGTH_BYTES, frame_end
from barnabas.wire.headers import request_header, response_header_bytes
from barnabas.wire.varints import skip_tags

SMALL_BYTES = 64 * 1024  # frames up to this size are received into the connection's own buffer
CORRELATION_BYTES = 4  # the least an answer has
_NUMBER = Struct(">i")
_number_at = _NUMBER.unpack_from
_CORRELATION_MAX = 0x7FFFFFFF

Waiter = TypeVar("Waiter")
Memory = Callable[[int], memoryview]


def own_memory(size: int) -> memoryview:
    return memoryview(bytearray(size))


class ReusedMemory:
    """One block for all large answers; each is there until the next one is received."""

    def __init__(self) -> None:
        self._block = bytearray(1 << 20)

    def __call__(self, size: int) -> memoryview:
        if size > len(self._block):
            self._block = bytearray(size + (size >> 2))
        return memoryview(self._block)[:size]


class Request(Generic[Waiter]):
    """One that was sent and not answered. `waiter` is the driver's: whom to tell."""

    __slots__ = ("api_key", "body_at", "correlation_id", "version", "waiter")

    def __init__(self, api_key: int, version: int, correlation_id: int, waiter: Waiter) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.body_at = response_header_bytes(api_key, version)  # where the answer's body begins
        self.waiter = waiter


class Exchange(Generic[Waiter]):
    def __init__(self, client_id: str, answer_max_bytes: int, memory: Memory = own_memory) -> None:
        self._client_id = client_id
        self._answer_max_bytes = answer_max_bytes
        self._memory = memory
        self._correlation_id = 0
        self._small = memoryview(bytearray(SMALL_BYTES))
        self._start = self._end = 0  # what was received into _small and not taken
        self._large: memoryview | None = None  # an answer that is being received, from its correlation id on
        self._large_have = 0
        self.in_flight: deque[Request[Waiter]] = deque()

    def request(self, api_key: int, version: int, body_bytes: int, waiter: Waiter) -> bytes:
        """What goes before the body of a request: its length and its header."""
        self._correlation_id = number = (self._correlation_id + 1) & _CORRELATION_MAX
        header = request_header(api_key, version, number, self._client_id)
        self.in_flight.append(Request(api_key, version, number, waiter))
        return _NUMBER.pack(len(header) + body_bytes) + header

    # --- receiving --------------------------------------------------------------------------------------------------

    def room(self) -> memoryview:
        """Where to receive; never empty once `next_answer` has given None."""
        if self._large is not None:
            return self._large[self._large_have :]
        if self._start:
            rest = self._end - self._start
            if rest:
                self._small[:rest] = bytes(self._small[self._start : self._end])
            self._start, self._end = 0, rest
        return self._small[self._end :]

    def received(self, count: int) -> None:
        if self._large is not None:
            self._large_have += count
        else:
            self._end += count

    @property
    def has_received(self) -> bool:
        """Part of an answer is here."""
        return self._large is not None or self._end > self._start

    def next_answer(self) -> tuple[Request[Waiter], memoryview] | None:
        """The next whole answer: its request, and its body. None until more has been received."""
        if self._large is not None:
            if self._large_have < len(self._large):
                return None
            whole, self._large = self._large, None
            return self._matched(whole)
        start, end = self._start, self._end
        try:
            behind = frame_end(self._small, start, end, self._answer_max_bytes, CORRELATION_BYTES)
        except ProtocolError as error:
            raise NotKafka(str(error)) from None
        if not behind:
            return None
        if behind <= end:
            self._start = behind
            return self._matched(memoryview(bytes(self._small[start + LENGTH_BYTES : behind])))
        if behind - start > SMALL_BYTES:
            self._receive_large(start + LENGTH_BYTES, behind)
        return None

    def _receive_large(self, start: int, behind: int) -> None:
        have = self._end - start
        self._large = self._memory(behind - start)
        self._large[:have] = self._small[start : self._end]
        self._large_have = have
        self._start = self._end = 0

    def _matched(self, frame: memoryview) -> tuple[Request[Waiter], memoryview]:
        number = _number_at(frame)[0]
        if not self.in_flight or self.in_flight[0].correlation_id != number:
            raise NotKafka(f"an answer to a request that is not the next one (correlation id {number})")
        body_at = self.in_flight[0].body_at
        if body_at > CORRELATION_BYTES and (len(frame) < body_at or frame[CORRELATION_BYTES]):
            body_at = _behind_tags(frame)
        return self.in_flight.popleft(), frame[body_at:]


def _behind_tags(frame: memoryview) -> int:
    """The end of a response header with tagged fields: none is defined, and a later Kafka may send some."""
    try:
        return skip_tags(frame, CORRELATION_BYTES + 1, frame[CORRELATION_BYTES])
    except (ProtocolError, IndexError):
        raise NotKafka("the header of an answer is cut short") from None
