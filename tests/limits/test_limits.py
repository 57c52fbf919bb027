"""Each limit crossed by one: the Kafka error or a closed connection, a line in the log, and a node that goes on."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cramjam
import pytest

from barnabas.model.limits import LOOKED_UP_ELEMENTS_MAX, NAMED_ELEMENTS_MAX
from tests.support import kio_codec
from tests.support.members import until
from tests.support.servers import BarnabasNode
from tests.support.wire import (
    API_VERSIONS,
    DESCRIBE_CONFIGS,
    FETCH,
    LIST_GROUPS,
    METADATA,
    PRODUCE,
    Closed,
    WireClient,
    batch,
    create_topic,
    fetch_body,
    produce_body,
    record,
    varint,
)

pytestmark = pytest.mark.timeout(120)
MIB = 1 << 20


def closed_by(client: WireClient, seconds: float = 10) -> bool:
    """Whether the server closes within the time, without an answer."""
    client.socket.settimeout(seconds)
    try:
        return client.socket.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def answers(node: BarnabasNode) -> bool:
    with WireClient(node.bootstrap, 10) as client:
        return int(client.call(API_VERSIONS, 0, {})["error_code"]) == 0


def padded(client: WireClient, size: int) -> bytes:
    """An ApiVersions request of exactly `size` bytes after the length: the client id fills it (up to 32 KB)."""
    client.client_id = "x" * (size - 10)
    frame = client.frame(API_VERSIONS, 0, {})
    assert len(frame) == size + 4
    return frame


def test_request_size(make_node: Callable[..., BarnabasNode]) -> None:
    node = make_node({"socket.request.max.bytes": "20000"})
    with WireClient(node.bootstrap) as client:
        client.socket.sendall(padded(client, 20000))
        client.receive(API_VERSIONS, 0)
        client.socket.sendall(padded(client, 20001)[:100])
        assert closed_by(client), "one byte too many is refused before it is read"
    told(node, "20001")
    assert answers(node)


@pytest.mark.parametrize("size", [100 * MIB + 1, 2**31 - 1, -1, -(2**31), 0, 7])
def test_frame_lengths_that_cannot_be(node: BarnabasNode, size: int) -> None:
    with WireClient(node.bootstrap) as client:
        client.socket.sendall(struct.pack(">i", size) + b"\0\x12\0\0" + b"\0" * 20)
        assert closed_by(client)
    assert answers(node)


def settled_rss(node: BarnabasNode) -> int:
    """What it takes once it has imported what it imports after it is ready."""
    last, now = 0, node.rss_bytes()
    while now != last:
        time.sleep(0.5)
        last, now = now, node.rss_bytes()
    return now


def test_a_claimed_length_alone_allocates_nothing(node: BarnabasNode) -> None:
    """Two hundred frames of 100 MiB begun and not sent."""
    answers(node)
    before = settled_rss(node)
    clients = [WireClient(node.bootstrap) for _ in range(200)]
    try:
        for client in clients:
            client.socket.sendall(struct.pack(">i", 100 * MIB) + struct.pack(">hhih", PRODUCE, 8, 1, -1))
        time.sleep(0.3)
        assert answers(node)
        assert node.rss_bytes() - before < 16 * MIB
    finally:
        for client in clients:
            client.close()


def test_half_sent_requests_share_a_budget(make_node: Callable[..., BarnabasNode]) -> None:
    """Ten clients send sixty of a hundred MiB and stop: most wait for room, and a good client does not notice."""
    node = make_node({"queued.max.request.bytes": str(64 * MIB)})
    assert answers(node)
    before = node.rss_bytes()
    header = struct.pack(">i", 100 * MIB) + struct.pack(">hhih", PRODUCE, 8, 1, -1)
    clients = [WireClient(node.bootstrap) for _ in range(10)]
    worst = 0
    try:
        for client in clients:
            client.socket.sendall(header)
            client.socket.setblocking(False)
        left = [60 * MIB] * len(clients)
        end = time.monotonic() + 6
        while time.monotonic() < end and any(left):
            for number, client in enumerate(clients):
                with contextlib.suppress(BlockingIOError, ConnectionError):
                    left[number] -= client.socket.send(bytes(min(left[number], MIB)))
            worst = max(worst, node.rss_bytes() - before)
        assert answers(node)
        assert worst < (64 + 200 + 40) * MIB, "more than the budget, and one request whose buffer grows"
        with WireClient(node.bootstrap, 60) as good:
            create_topic(good, "large", max_message_bytes=str(20 * MIB))
            value = bytes(12 * MIB)
            answer = good.call(PRODUCE, 8, produce_body("large", batch([value])))
            assert answer["responses"][0]["partition_responses"][0]["error_code"] == 0
        told(node, "queued.max.request.bytes")  # who sends nothing more makes room for who does
    finally:
        for client in clients:
            client.close()
    assert answers(node)


@pytest.mark.parametrize("connections", [1, 24])
def test_large_requests_share_a_budget_for_what_is_decoded(
    make_node: Callable[..., BarnabasNode], connections: int
) -> None:
    """Each names as many topics as one may, which takes 125 MB until it is answered: together they take little more
    than one, and all are answered. 24 took 480 MiB."""
    node = make_node({"queued.max.request.bytes": str(64 * MIB)})
    names = b"".join(struct.pack(">h6s", 6, b"%06d" % number) for number in range(LOOKED_UP_ELEMENTS_MAX - 10))
    body = struct.pack(">i", LOOKED_UP_ELEMENTS_MAX - 10) + names + b"\0"
    with WireClient(node.bootstrap) as client:
        client.call(METADATA, 1, {"topics": [{"name": "nobody"}]})
        before = settled_rss(node)
        reset_peak(node)
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(WireClient(node.bootstrap, 90)) for _ in range(connections)]
            for each in clients:
                each.send(METADATA, 4, body)
            for each in clients:
                assert len(each.receive_frame()) > LOOKED_UP_ELEMENTS_MAX
                assert client.call(API_VERSIONS, 0, {})["error_code"] == 0
    assert peak_rss(node) - before < 200 * MIB


def reset_peak(node: BarnabasNode) -> None:
    Path(f"/proc/{node.pid}/clear_refs").write_text("5")


def peak_rss(node: BarnabasNode) -> int:
    lines = Path(f"/proc/{node.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def test_connections_of_one_address(make_node: Callable[..., BarnabasNode]) -> None:
    node = make_node({"max.connections.per.ip": "5"})
    time.sleep(0.2)  # the one that waited for the start is gone
    clients = [WireClient(node.bootstrap) for _ in range(5)]
    for client in clients:
        client.call(API_VERSIONS, 0, {})
    with WireClient(node.bootstrap) as sixth:
        assert closed_by(sixth)
    told(node, "max.connections.per.ip")
    clients.pop().close()
    until(lambda: admitted(node), "a place is free again", 5)
    for client in clients:
        client.call(API_VERSIONS, 0, {})
        client.close()


def told(node: BarnabasNode, text: str) -> None:
    """A thread writes the log, so a line may come a little after its reason."""
    until(lambda: text in node.tail(), f"the log says {text!r}", 10)


def admitted(node: BarnabasNode) -> bool:
    with contextlib.suppress(Closed, ConnectionError, OSError):
        return answers(node)
    return False


def test_connections_of_the_node(make_node: Callable[..., BarnabasNode]) -> None:
    node = make_node({"max.connections": "4"})
    time.sleep(0.2)
    clients = [WireClient(node.bootstrap) for _ in range(4)]
    for client in clients:
        client.call(API_VERSIONS, 0, {})
    with WireClient(node.bootstrap) as fifth:
        assert closed_by(fifth)
    told(node, "max.connections")
    for client in clients:
        client.call(API_VERSIONS, 0, {})
        client.close()
    until(lambda: admitted(node), "places are free again", 5)


def test_idle_connections(make_node: Callable[..., BarnabasNode]) -> None:
    """Silent ones close; one that speaks and one that waits for its answer stay."""
    node = make_node({"connections.max.idle.ms": "1000"})
    with WireClient(node.bootstrap) as idle, WireClient(node.bootstrap) as busy, WireClient(node.bootstrap) as waiting:
        create_topic(busy, "watched")
        for client in (idle, waiting):
            client.call(API_VERSIONS, 0, {})
        asked = waiting.send(FETCH, 11, fetch_body("watched", 0, max_wait_ms=3000, min_bytes=1))
        began = time.monotonic()
        while time.monotonic() - began < 2.6:
            busy.call(API_VERSIONS, 0, {})
            time.sleep(0.1)
        idle.socket.settimeout(0.2)
        assert idle.socket.recv(1) == b"", "idle for two and a half times the limit"
        assert waiting.receive(FETCH, 11, asked)["error_code"] == 0
        busy.call(API_VERSIONS, 0, {})


def test_array_length(node: BarnabasNode) -> None:
    """As many empty strings of one byte each as a request may have, and one more."""

    def asked(count: int) -> bytes:
        def uvarint(n: int) -> bytes:
            out = bytearray()
            while n > 0x7F:
                out.append(n & 0x7F | 0x80)
                n >>= 7
            out.append(n)
            return bytes(out)

        return uvarint(count + 1) + b"\1" * count + b"\0"

    with WireClient(node.bootstrap, 30) as client:
        assert client.call(LIST_GROUPS, 4, asked(NAMED_ELEMENTS_MAX))["error_code"] == 0
        client.send(LIST_GROUPS, 4, asked(NAMED_ELEMENTS_MAX + 1))
        assert closed_by(client)
    with WireClient(node.bootstrap) as client:
        client.send(METADATA, 1, struct.pack(">i", 50) + b"\0\0" * 10)
        assert closed_by(client), "an array longer than the bytes that remain"
    assert answers(node)


def test_tagged_fields(node: BarnabasNode) -> None:
    def tags(count: int) -> bytes:
        def uvarint(n: int) -> bytes:
            return bytes([n]) if n < 128 else bytes([n & 0x7F | 0x80]) + uvarint(n >> 7)

        return uvarint(count) + b"".join(uvarint(100 + i) + b"\0" for i in range(count))

    with WireClient(node.bootstrap) as client:
        assert client.call(LIST_GROUPS, 4, b"\1" + tags(10_000))["error_code"] == 0
        client.send(LIST_GROUPS, 4, b"\1" + tags(10_001))
        assert closed_by(client)
    assert answers(node)


def test_record_batch_size(node: BarnabasNode) -> None:
    """`max.message.bytes`: 1 MiB and the header of a batch."""
    with WireClient(node.bootstrap) as client:
        create_topic(client, "sized")
        for total, expected in ((MIB + 12, 0), (MIB + 13, 10)):
            value = b"x" * (total - len(batch([b"x" * 1_000_000])) + 1_000_000)
            data = batch([value])
            assert len(data) == total
            answer = client.call(PRODUCE, 8, produce_body("sized", data))
            assert answer["responses"][0]["partition_responses"][0]["error_code"] == expected


def lz4(data: bytes) -> bytes:
    compressor = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
    compressor.compress(data)
    return bytes(compressor.finish())


def xerial(data: bytes) -> bytes:
    block = bytes(cramjam.snappy.compress_raw(data))
    return b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(block)) + block


def liar(claimed: int) -> bytes:
    """Raw snappy that claims to open to so much."""
    out, n = bytearray(), claimed
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out) + b"\0x"


ZEROS = bytes(200 * MIB)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "snappy that lies", "lz4", "zstd", "zstd of gigabytes"])
@pytest.mark.parametrize("opened_because", ["compacted", "packed again"])
def test_decompression_bombs(node: BarnabasNode, codec: str, opened_because: str) -> None:
    """Where a batch must be opened (keys on a compacted topic, another codec): refused, and the memory is not spent."""
    bombs: dict[str, tuple[int, Callable[[], bytes]]] = {
        "gzip": (1, lambda: bytes(cramjam.gzip.compress(ZEROS, level=9))),
        "snappy": (2, lambda: xerial(ZEROS[: 150 * MIB])),
        "snappy that lies": (2, lambda: liar(2**32 - 1)),
        "lz4": (3, lambda: lz4(ZEROS)),
        "zstd": (4, lambda: bytes(cramjam.zstd.compress(ZEROS, level=9))),
        "zstd of gigabytes": (4, lambda: bytes(cramjam.zstd.compress(ZEROS, level=1)) * 20),
    }
    number, payload = bombs[codec]
    name = f"bombed-{codec.replace(' ', '-')}-{opened_because.replace(' ', '-')}"
    config: dict[str, Any] = (
        {"cleanup_policy": "compact"} if opened_because == "compacted" else {"compression_type": "gzip"}
    )
    if opened_because == "packed again" and number == 1:
        config = {"compression_type": "zstd"}
    with WireClient(node.bootstrap, 60) as client:
        create_topic(client, name, max_message_bytes=str(8 * MIB), **config)
        data = batch([b"x"], attributes=number, payload=payload())
        assert len(data) < 8 * MIB
        before, slowest = node.rss_bytes(), 0.0
        for _ in range(3):
            began = time.perf_counter()
            answer = client.call(PRODUCE, 8, produce_body(name, data))
            slowest = max(slowest, time.perf_counter() - began)
            assert answer["responses"][0]["partition_responses"][0]["error_code"] != 0
        assert slowest < 5
        assert node.rss_bytes() - before < 60 * MIB, "what a bomb opened to is still held"
    assert answers(node)


def test_a_varint_without_end_in_a_record(node: BarnabasNode) -> None:
    with WireClient(node.bootstrap) as client:
        create_topic(client, "endless", cleanup_policy="compact")
        for payload in (b"\xff" * 50, varint(2**31 - 1) + b"x", varint(-5), record(0, b"v", b"k")[:-1], b""):
            answer = client.call(PRODUCE, 8, produce_body("endless", batch([b"x"], payload=payload)))
            assert answer["responses"][0]["partition_responses"][0]["error_code"] != 0


def test_slow_dribble(node: BarnabasNode) -> None:
    """Fifty clients send a request byte by byte; a good one beside them does not notice; the fifty get their
    answers."""
    clients = [WireClient(node.bootstrap) for _ in range(50)]
    frames = [client.frame(METADATA, 9, {"topics": []}) for client in clients]
    slowest = 0.0
    with WireClient(node.bootstrap) as good:
        for at in range(len(frames[0])):
            for client, frame in zip(clients, frames, strict=True):
                client.socket.sendall(frame[at : at + 1])
            began = time.perf_counter()
            good.call(API_VERSIONS, 0, {})
            slowest = max(slowest, time.perf_counter() - began)
            time.sleep(0.02)
    for client in clients:
        client.receive(METADATA, 9, client.correlation_id)
        client.close()
    assert slowest < 1.0


def test_a_client_that_never_reads(node: BarnabasNode) -> None:
    """Its requests are no longer read once 64 MiB of answers wait; when it reads at last, every answer is there,
    in order."""
    with WireClient(node.bootstrap, 30) as client, WireClient(node.bootstrap) as good:
        broker = client.call(METADATA, 1, {"topics": []})["brokers"][0]["node_id"]
        body = {
            "resources": [{"resource_type": 4, "resource_name": str(broker), "configuration_keys": None}],
            "include_synonyms": True,
            "include_documentation": True,
        }
        client.client_id = "x" * 20_000  # large requests, so that what the sockets hold is few of them
        client.call(DESCRIBE_CONFIGS, 4, body)
        size = len(client.last_answer)
        before = node.rss_bytes()
        first = client.correlation_id + 1
        client.socket.setblocking(False)
        sent = stopped = 0
        data = b""
        while stopped < 10 and sent < 10_000:
            data = data or client.frame(DESCRIBE_CONFIGS, 4, body)
            _, writable, _ = select.select([], [client.socket], [], 0.2)
            if not writable:
                stopped += 1
                good.call(API_VERSIONS, 0, {})
                continue
            stopped = 0
            with contextlib.suppress(BlockingIOError):
                data = data[client.socket.send(data) :]
                sent += not data
        assert stopped == 10, f"{sent} requests for answers of {size} bytes were all taken"
        assert node.rss_bytes() - before < 64 * MIB + 48 * MIB
        client.socket.setblocking(True)
        client.socket.settimeout(60)
        for correlation in range(first, first + sent):
            frame = client.receive_frame()
            assert struct.unpack_from(">i", frame)[0] == correlation
        client.socket.sendall(data)


def test_many_long_polls_on_one_connection(node: BarnabasNode) -> None:
    """A thousand may wait; the rest is not read until some are answered. All are answered, in order."""
    with WireClient(node.bootstrap, 60) as client, WireClient(node.bootstrap) as writer:
        create_topic(client, "polled")
        before = node.rss_bytes()
        asked = [client.send(FETCH, 11, fetch_body("polled", 0, max_wait_ms=30_000, min_bytes=1)) for _ in range(3000)]
        time.sleep(0.5)
        assert answers(node)
        assert node.rss_bytes() - before < 48 * MIB
        writer.call(PRODUCE, 8, produce_body("polled", batch([b"wake"])))
        for correlation in asked:
            found = client.receive(FETCH, 11, correlation)["responses"][0]["partitions"][0]
            assert found["error_code"] == 0
            assert found["records"]


def test_waiters_do_not_outlive_their_connection(node: BarnabasNode) -> None:
    """Long polls of connections that vanish: descriptors and memory come back."""
    with WireClient(node.bootstrap) as client:
        create_topic(client, "left")
    open_before = node.open_files()
    for _ in range(3):
        clients = [WireClient(node.bootstrap) for _ in range(100)]
        for client in clients:
            client.send(FETCH, 11, fetch_body("left", 0, max_wait_ms=60_000, min_bytes=1))
        time.sleep(0.1)
        for client in clients:
            client.socket.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )  # a reset, not a goodbye
            client.close()
    until(lambda: node.open_files() <= open_before + 3, "descriptors come back", 10)
    assert answers(node)


def test_two_hundred_connections(node: BarnabasNode) -> None:
    """Churn: they come, ask and go; nothing stays behind."""
    answers(node)
    open_before, rss_before = node.open_files(), node.rss_bytes()
    for _ in range(5):
        clients = [WireClient(node.bootstrap) for _ in range(200)]
        for client in clients:
            client.call(METADATA, 12, {"topics": []})
        for client in clients:
            client.close()
    until(lambda: node.open_files() <= open_before + 3, "descriptors come back", 10)
    assert node.rss_bytes() - rss_before < 24 * MIB


def test_a_follower_nobody_knows(node: BarnabasNode) -> None:
    """CVE-2018-1288: a client that says it is a replica gets no more than a client, and moves no high watermark."""
    with WireClient(node.bootstrap) as client:
        ident = create_topic(client, "followed")
        client.call(PRODUCE, 8, produce_body("followed", batch([b"x"])))
        for replica in (0, 1, 2, 77):
            body = {
                **fetch_body("followed", 1, topic_id=ident),
                "replica_id": replica,
                "replica_state": {"replica_id": replica, "replica_epoch": 1},
            }
            client.call(FETCH, 11, body)
            client.call(FETCH, 17, body)
        found = client.call(FETCH, 11, fetch_body("followed", 0))["responses"][0]["partitions"][0]
        assert (found["error_code"], found["high_watermark"]) == (0, 1)
        assert (
            client.call(PRODUCE, 8, produce_body("followed", batch([b"y"])))["responses"][0]["partition_responses"][0][
                "error_code"
            ]
            == 0
        )


def test_a_full_disk(tmp_path: Path) -> None:
    """On a file system of 24 MiB: the produce that does not fit gets an error, what was acknowledged stays,
    reading goes on."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    import subprocess

    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(small)], capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted here")
    server = BarnabasNode(small / "node")
    try:
        server.start()
        with WireClient(server.bootstrap) as client:
            create_topic(client, "filling")
            acked, refused = 0, 0
            for _ in range(60):
                answer = client.call(PRODUCE, 8, produce_body("filling", batch([b"x" * 900_000])))
                code = answer["responses"][0]["partition_responses"][0]["error_code"]
                acked, refused = acked + (code == 0), refused + (code != 0)
            assert acked >= 5
            assert refused >= 10
            found = client.call(FETCH, 11, fetch_body("filling", acked - 1, partition_max_bytes=MIB))
            assert found["responses"][0]["partitions"][0]["error_code"] == 0
            assert found["responses"][0]["partitions"][0]["records"]
        assert server.alive(), server.tail()
    finally:
        server.kill()
        subprocess.run(["umount", "-l", str(small)], capture_output=True)


def test_the_schema_of_the_tests_is_not_ours() -> None:
    """The hostile frames are made by kio's tables; that they name every served version is checked once, here. Of our
    own APIs they know nothing."""
    from barnabas.wire.apis import DESCRIBE_LINKS, SERVED

    for key, api in SERVED.items():
        if key >= DESCRIBE_LINKS:
            continue
        known = kio_codec.versions(key)
        assert api.min_version >= known[0]
        assert api.max_version <= known[-1]
