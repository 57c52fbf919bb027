"""A node that may open few files: it takes what it may have, and refuses clients before its log lacks a descriptor."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from tests.support.servers import BarnabasNode
from tests.support.wire import PRODUCE, Closed, WireClient, batch, create_topic, produce_body


def under_limit(node: BarnabasNode, soft: int, hard: int) -> BarnabasNode:
    node.command = ["prlimit", f"--nofile={soft}:{hard}", *node.command]
    return node


def produce(client: WireClient, topic: str, index: int) -> int:
    body = produce_body(topic, batch([b"x"]))
    body["topic_data"][0]["partition_data"][0]["index"] = index
    answer = client.call(PRODUCE, 8, body)
    return int(answer["responses"][0]["partition_responses"][0]["error_code"])


def test_the_soft_limit_is_raised_to_the_hard_one(tmp_path: Path) -> None:
    node = under_limit(BarnabasNode(tmp_path), 256, 8192)
    try:
        node.start()
        limits = Path(f"/proc/{node.pid}/limits").read_text()
        line = next(line for line in limits.splitlines() if line.startswith("Max open files"))
        assert line.split()[3:5] == ["8192", "8192"]
        assert "files may be open" not in node.tail()
    finally:
        node.stop()


def test_more_clients_and_partitions_than_descriptors(tmp_path: Path) -> None:
    settings = {"log.flush.interval.messages": "1", "log.index.interval.bytes": "1"}
    node = under_limit(BarnabasNode(tmp_path, settings), 128, 128)
    clients: list[socket.socket] = []
    try:
        node.start()
        assert node.tail(100_000).count("files may be open") == 1
        with WireClient(node.bootstrap, 20) as good:
            create_topic(good, "t", partitions=200)
            refused = 0
            for index in range(200):
                clients.append(socket.create_connection(good.address, 5))
                assert produce(good, "t", index) == 0
            for round_number in range(2):
                assert [produce(good, "t", index) for index in range(200)] == [0] * 200, round_number
            for client in clients:
                client.settimeout(0.01)
                with contextlib.suppress(TimeoutError):
                    refused += client.recv(1) == b""
            assert 50 < refused < 200
        assert node.alive()
        for client in clients:
            client.close()
        with contextlib.suppress(Closed), WireClient(node.bootstrap, 20) as later:
            assert produce(later, "t", 0) == 0
        assert node.alive(), node.tail()
        assert "Traceback" not in node.tail(100_000)
        assert "open files, ulimit -n" in node.tail(100_000)
    finally:
        for client in clients:
            client.close()
        node.stop()
