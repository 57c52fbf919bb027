"""One connection without a socket: answers of all sizes, cut anywhere, and hostile ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.link.errors import NotKafka
from barnabas.link.exchange import SMALL_BYTES, Exchange, ReusedMemory
from barnabas.wire.apis import API_VERSIONS, DESCRIBE_CLUSTER, HEARTBEAT
from barnabas.wire.headers import read_request_header, response_frame

MAX = 1 << 20


def ask(exchange: Exchange[str], *names: str, api_key: int = DESCRIBE_CLUSTER, version: int = 0) -> list[int]:
    """Correlation ids, read from the bytes."""
    numbers = []
    for name in names:
        head = exchange.request(api_key, version, 0, name)
        assert int.from_bytes(head[:4], "big") == len(head) - 4
        numbers.append(read_request_header(head, 4).correlation_id)
    return numbers


def feed(exchange: Exchange[str], data: bytes, most: int = 1 << 30) -> Iterator[tuple[str, bytes]]:
    """As a driver does: whatever has room is received, then whole answers are taken."""
    while data:
        room = exchange.room()
        count = min(len(room), len(data), most)
        assert count > 0
        room[:count], data = data[:count], data[count:]
        exchange.received(count)
        while (found := exchange.next_answer()) is not None:
            yield found[0].waiter, bytes(found[1])


def test_a_request_has_its_length_and_header_before_the_body() -> None:
    exchange: Exchange[str] = Exchange("me", MAX)
    head = exchange.request(DESCRIBE_CLUSTER, 1, 7, "waiter")
    header = read_request_header(head + b"payload", 4)
    assert int.from_bytes(head[:4], "big") == len(head) - 4 + 7
    assert header[:4] == (DESCRIBE_CLUSTER, 1, 1, "me") and header.body_position == len(head)
    assert [each.waiter for each in exchange.in_flight] == ["waiter"]


@given(
    sizes=st.lists(st.sampled_from([0, 1, 3, 900, 65_000, SMALL_BYTES - 9, SMALL_BYTES - 8, 70_000, 300_000])),
    most=st.sampled_from([1, 4099, 70_001, 1 << 30]),
    reused=st.booleans(),
)
def test_answers_of_all_sizes_cut_anywhere(sizes: list[int], most: int, reused: bool) -> None:
    if most == 1:
        sizes = [size for size in sizes if size < 1000]
    exchange: Exchange[str] = Exchange("me", MAX, ReusedMemory()) if reused else Exchange("me", MAX)
    names = [str(number) for number in range(len(sizes))]
    bodies = [bytes([number % 251]) * size for number, size in enumerate(sizes)]
    numbers = ask(exchange, *names)
    sent = b"".join(response_frame(DESCRIBE_CLUSTER, 0, *each) for each in zip(numbers, bodies, strict=True))
    assert list(feed(exchange, sent, most)) == list(zip(names, bodies, strict=True))
    assert not exchange.in_flight and not exchange.has_received


def test_a_large_answer_lies_in_memory_of_its_own_or_in_the_reused_block() -> None:
    for reused in (True, False):
        exchange: Exchange[str] = Exchange("me", 1 << 24, ReusedMemory()) if reused else Exchange("me", 1 << 24)
        blocks = []
        for number in ask(exchange, "one", "two"):
            data = response_frame(DESCRIBE_CLUSTER, 0, number, b"x" * 3_000_000)
            while (found := exchange.next_answer()) is None:
                room = exchange.room()
                count = min(len(room), len(data))
                room[:count], data = data[:count], data[count:]
                exchange.received(count)
            blocks.append(found[1].obj)
        assert (blocks[0] is blocks[1]) is reused


def test_an_answer_without_a_body_and_a_header_with_tags() -> None:
    exchange: Exchange[str] = Exchange("me", MAX)
    (number,) = ask(exchange, "empty")
    assert list(feed(exchange, response_frame(DESCRIBE_CLUSTER, 0, number, b""))) == [("empty", b"")]
    (number,) = ask(exchange, "tagged", api_key=HEARTBEAT, version=4)
    tags = b"\x01" + b"\x07\x02xy"  # one tagged field, number 7, two bytes
    frame = number.to_bytes(4, "big") + tags + b"body"
    assert list(feed(exchange, len(frame).to_bytes(4, "big") + frame)) == [("tagged", b"body")]
    (number,) = ask(exchange, "versions", api_key=API_VERSIONS, version=3)  # its header never has tags
    frame = number.to_bytes(4, "big") + b"body"
    assert list(feed(exchange, len(frame).to_bytes(4, "big") + frame)) == [("versions", b"body")]


@pytest.mark.parametrize("length", [-1, -(2**31), 0, 3, MAX + 1, 2**31 - 1, int.from_bytes(b"HTTP", "big")])
def test_a_length_that_cannot_be_is_refused_before_anything_is_allocated(length: int) -> None:
    def no_memory(size: int) -> memoryview:
        raise AssertionError(f"{size} bytes were allocated")

    exchange: Exchange[str] = Exchange("me", MAX, no_memory)
    ask(exchange, "waits")
    with pytest.raises(NotKafka, match=f"{length} bytes"):
        list(feed(exchange, length.to_bytes(4, "big", signed=True)))
    assert [each.waiter for each in exchange.in_flight] == ["waits"]


@pytest.mark.parametrize("number", [2, 99, 0, -1])
def test_an_answer_to_another_request_ends_it_after_the_good_ones(number: int) -> None:
    exchange: Exchange[str] = Exchange("me", MAX)
    first, _, third = ask(exchange, "first", "second", "third")
    sent = response_frame(DESCRIBE_CLUSTER, 0, first, b"good")
    sent += response_frame(DESCRIBE_CLUSTER, 0, third if number == 2 else number, b"bad")
    got = feed(exchange, sent)
    assert next(got) == ("first", b"good")
    with pytest.raises(NotKafka, match="not the next one"):
        next(got)
    assert [each.waiter for each in exchange.in_flight] == ["second", "third"]


def test_an_answer_nobody_asked_for() -> None:
    with pytest.raises(NotKafka, match="not the next one"):
        list(feed(Exchange("me", MAX), response_frame(DESCRIBE_CLUSTER, 0, 1, b"")))


@pytest.mark.parametrize("rest", [b"", b"\x01", b"\x01\x00\x7f", b"\xff\xff\xff\xff\xff\xff", b"\x05"])
def test_a_header_that_is_cut_short(rest: bytes) -> None:
    exchange: Exchange[str] = Exchange("me", MAX)
    (number,) = ask(exchange, "waits", api_key=HEARTBEAT, version=4)
    frame = number.to_bytes(4, "big") + rest
    with pytest.raises(NotKafka):
        list(feed(exchange, len(frame).to_bytes(4, "big") + frame))


@pytest.mark.parametrize("size", [10, 200_000])
def test_one_that_is_cut_in_the_middle_is_no_answer(size: int) -> None:
    exchange: Exchange[str] = Exchange("me", MAX)
    (number,) = ask(exchange, "waits")
    frame = response_frame(DESCRIBE_CLUSTER, 0, number, b"x" * size)
    for end in (1, 4, 7, 9, len(frame) - 1):
        exchange = Exchange("me", MAX)
        ask(exchange, "waits")
        assert list(feed(exchange, frame[:end])) == []
        assert exchange.has_received and len(exchange.in_flight) == 1


def test_correlation_ids_begin_anew_behind_the_highest() -> None:
    exchange: Exchange[str] = Exchange("me", MAX)
    exchange._correlation_id = 2**31 - 2
    assert ask(exchange, "a", "b") == [2**31 - 1, 0]


@given(st.binary(max_size=200), st.integers(1, 7))
def test_any_bytes_give_answers_or_not_kafka(data: bytes, most: int) -> None:
    exchange: Exchange[str] = Exchange("me", 100)
    numbers = ask(exchange, *"abc")
    try:
        for waiter, _ in feed(exchange, data, most):
            assert waiter == "abc"[len(numbers) - len(exchange.in_flight) - 1]
    except NotKafka:
        pass
