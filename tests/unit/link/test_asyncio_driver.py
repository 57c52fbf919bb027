"""The asyncio driver on a real socket: answers in order, large ones whole, and LinkDown when none will come."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from barnabas.link.asyncio_driver import AsyncLink
from barnabas.link.errors import LinkDown, NotKafka, Silent
from barnabas.model.limits import PEER_ANSWER_MAX_BYTES
from barnabas.wire.apis import DESCRIBE_CLUSTER
from barnabas.wire.codec import encode_response
from barnabas.wire.headers import read_request_header, response_frame

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def read(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    header = read_request_header(frame)
    return header.correlation_id, frame[header.body_position :]


def against(serve: Serve, story: Callable[[AsyncLink, list[bool]], Awaitable[None]]) -> None:
    async def run() -> None:
        serving: list[asyncio.Task[None]] = []

        async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            serving.append(asyncio.ensure_future(serve(reader, writer)))
            try:
                await asyncio.wait(serving)
            finally:
                writer.close()

        server = await asyncio.start_server(served, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        lost: list[bool] = []
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: AsyncLink("me", lost.append), "127.0.0.1", port)
        async with asyncio.timeout(10):
            await story(connection, lost)
        connection.close()
        server.close()
        await asyncio.wait(serving, timeout=10)  # they see the end of the connection, and close their side of it

    asyncio.run(run())


def test_many_questions_on_their_way_and_answers_of_all_sizes() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = [await read(reader) for _ in range(6)]
        whole = b"".join(response_frame(DESCRIBE_CLUSTER, 0, number, body * int(body)) for number, body in asked)
        for at in range(0, len(whole), 70_001):  # cut anywhere
            writer.write(whole[at : at + 70_001])
            await writer.drain()
            await asyncio.sleep(0)

    async def story(connection: AsyncLink, lost: list[bool]) -> None:
        sizes = [1, 3, 200_000, 65_000, 2, 300_000]
        answers = [connection.ask_raw(DESCRIBE_CLUSTER, 0, b"%d" % size) for size in sizes]
        assert connection.waiting == 6
        for size, answer in zip(sizes, await asyncio.gather(*answers), strict=True):
            assert bytes(answer) == b"%d" % size * size
        assert connection.waiting == 0 and lost == []

    against(serve, story)


def test_a_decoded_answer() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, _ = await read(reader)
        body = {"cluster_id": "c", "controller_id": 4, "brokers": []}
        writer.write(response_frame(DESCRIBE_CLUSTER, 0, number, encode_response(DESCRIBE_CLUSTER, 0, body)))
        number, _ = await read(reader)
        writer.write(response_frame(DESCRIBE_CLUSTER, 0, number, b"\xff"))

    async def story(connection: AsyncLink, lost: list[bool]) -> None:
        body = {"include_cluster_authorized_operations": False}
        assert (await connection.ask(DESCRIBE_CLUSTER, 0, body)).controller_id == 4
        with pytest.raises(NotKafka, match="cannot be read"):
            await connection.ask(DESCRIBE_CLUSTER, 0, body)
        assert connection.closed

    against(serve, story)


@pytest.mark.parametrize("asked", [True, False])
def test_whoever_waits_hears_that_it_closed(asked: bool) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1) if asked else None
        writer.transport.abort()

    async def story(connection: AsyncLink, lost: list[bool]) -> None:
        if asked:
            answers = [connection.ask_raw(DESCRIBE_CLUSTER, 0, b"") for _ in range(2)]
            for answer in answers:
                with pytest.raises(LinkDown):
                    await answer
        while not lost:
            await asyncio.sleep(0.001)
        assert lost == [asked] and connection.closed
        with pytest.raises(LinkDown):
            await connection.ask_raw(DESCRIBE_CLUSTER, 0, b"")

    against(serve, story)


def test_silence_is_given_up_with_everything_behind_it() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def story(connection: AsyncLink, lost: list[bool]) -> None:
        first = connection.ask_raw(DESCRIBE_CLUSTER, 0, b"", timeout_ms=20)
        behind = connection.ask_raw(DESCRIBE_CLUSTER, 0, b"", timeout_ms=60_000)
        with pytest.raises(Silent):
            await first
        with pytest.raises(LinkDown, match="an earlier answer"):
            await behind
        assert connection.closed and lost == [True]

    against(serve, story)


@pytest.mark.parametrize(
    "sent",
    [
        (3).to_bytes(4, "big"),
        (PEER_ANSWER_MAX_BYTES + 1).to_bytes(4, "big"),
        (-1 & 0xFFFFFFFF).to_bytes(4, "big"),
        response_frame(DESCRIBE_CLUSTER, 0, 99, b"to nobody"),
    ],
)
def test_nonsense_ends_it(sent: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read(reader)
        writer.write(sent)
        await reader.read()

    async def story(connection: AsyncLink, lost: list[bool]) -> None:
        with pytest.raises(NotKafka):
            await connection.ask_raw(DESCRIBE_CLUSTER, 0, b"")
        assert connection.closed and lost == [True]

    against(serve, story)


def test_whoever_stopped_waiting_does_not_hold_up_the_others() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            number, body = await read(reader)
            writer.write(response_frame(DESCRIBE_CLUSTER, 0, number, body))
        await reader.read()

    async def story(connection: AsyncLink, lost: list[bool]) -> None:
        first, second = (connection.ask_raw(DESCRIBE_CLUSTER, 0, body) for body in (b"1", b"2"))
        first.cancel()
        assert bytes(await second) == b"2" and connection.waiting == 0
        waits = connection.ask_raw(DESCRIBE_CLUSTER, 0, b"3")
        connection.close()
        with pytest.raises(LinkDown, match="closed by this side"):
            await waits
        await asyncio.sleep(0)
        assert lost == []  # we closed it

    against(serve, story)
