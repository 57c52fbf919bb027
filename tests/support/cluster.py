"""Several nodes as child processes on this machine, one cluster: killed, paused, started again, one by one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.links import Links
from tests.support.members import QUIET
from tests.support.nodes_security import NodesSecurity, by_certificate
from tests.support.process import free_port
from tests.support.servers import BarnabasNode
from tests.support.wire import DESCRIBE_QUORUM, METADATA, WireClient


class BarnabasCluster:
    def __init__(
        self,
        folder: Path,
        count: int = 3,
        settings: Mapping[str, str] | None = None,
        linked: bool = False,
        security: NodesSecurity | None = None,
        zones: Mapping[int, str] | None = None,
    ) -> None:
        """`linked`: between the nodes are `links`, which can be cut; clients reach every node all the time.
        `security`: how nodes log in at each other. `zones`: where each node stands."""
        self.folder = folder
        self.zones = dict(zones or {})
        self.settings = dict(settings or {})
        self.security = security if security is not None else by_certificate(folder / "secure") if SECURE else None
        numbers = range(1, count + 1)
        ports, behind, doors = (_by_number(numbers, found) for found in _ports(3, count))
        self.links: Links | None = None
        if linked:
            self.links = Links(doors, behind, None if self.security is None else self._pids)
            self.links.start()
        self._behind = behind  # the ports of the listener NODES, where there is one
        told = doors if linked else ports if self.security is None else behind
        self.voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in told.items())
        self.nodes: dict[int, BarnabasNode] = {}
        for number, port in ports.items():
            more = {"controller.quorum.voters": self.voters, **self._listeners(number, port)}
            self.nodes[number] = self._node(number, port, more)
        self.clients: dict[int, WireClient] = {}

    def _listeners(self, number: int, port: int) -> dict[str, str]:
        if self.links is None and self.security is None:
            return {}
        behind = self._behind[number] = self._behind.get(number) or free_port()
        door = behind if self.links is None else self.links.doors[number]
        protocol = "PLAINTEXT" if self.security is None else self.security.protocol
        return {
            **({} if self.security is None else self.security.of_node(number)),
            "listeners": f"PLAINTEXT://127.0.0.1:{port},NODES://127.0.0.1:{behind}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},NODES://127.0.0.1:{door}",
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,NODES:{protocol}",
            "inter.broker.listener.name": "NODES",
        }

    def _pids(self) -> dict[int, int]:
        return {node.process.pid: number for number, node in self.nodes.items() if node.process is not None}

    def _node(self, number: int, port: int, more: Mapping[str, str]) -> BarnabasNode:
        rack = {"broker.rack": f"rack-{number}"} if self.settings.get("racks") else {}
        rack |= {"broker.rack": self.zones[number]} if number in self.zones else {}
        settings = {"node.id": str(number), **rack, **self.settings, **more}
        settings.pop("racks", None)
        return BarnabasNode(self.folder / f"node-{number}", settings, port)

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes.values())

    @property
    def nodes_bootstrap(self) -> str:
        """Of the listener on which the nodes speak to each other."""
        return ",".join(f"127.0.0.1:{port}" for port in self._behind.values())

    def zone(self, name: str) -> list[int]:
        """The nodes that stand there."""
        return [number for number, place in self.zones.items() if place == name]

    @property
    def up(self) -> list[int]:
        return [number for number, node in self.nodes.items() if node.alive()]

    # --- life ---------------------------------------------------------------------------------------------------------

    def start(self, *numbers: int) -> None:
        """Start nodes (all when none is named) together, and wait until the cluster counts them in."""
        chosen = numbers or tuple(self.nodes)
        if self.links is not None:
            self.links.accept(number for number in chosen if number in self.links.doors)
        for number in chosen:
            node = self.nodes[number]
            node.launch()
        self.await_brokers(set(self.up))

    def quorum_address(self, number: int) -> str:
        """Where other nodes reach it as a voter."""
        port = self._behind[number] if self.security is not None else self.nodes[number].port
        return f"127.0.0.1:{port}"

    def add(self, number: int, more: Mapping[str, str] | None = None) -> BarnabasNode:
        """A further node that finds the cluster by its addresses."""
        servers = self.bootstrap if self.security is None else self.nodes_bootstrap
        port = free_port()
        own = {} if self.links is not None else self._listeners(number, port)
        settings = {"controller.quorum.bootstrap.servers": servers, **own, **(more or {})}
        self.nodes[number] = self._node(number, port, settings)
        self.start(number)
        return self.nodes[number]

    def kill(self, *numbers: int) -> None:
        for number in numbers:
            self.nodes[number].signal(signal.SIGKILL)
        if self.links is not None:
            self.links.refuse(numbers)
        for number in numbers:
            self.nodes[number].kill()
            self._forget(number)

    def restart(self, number: int) -> None:
        """A clean stop and a start."""
        self.stop_one(number)
        self.start(number)

    def stop_one(self, number: int) -> None:
        self._forget(number)
        code = self.nodes[number].stop()
        assert code == 0, self.nodes[number].tail()

    def pause(self, number: int) -> None:
        self.nodes[number].signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        self.nodes[number].signal(signal.SIGCONT)

    def stop(self) -> None:
        for number in list(self.clients):
            self._forget(number)
        for node in self.nodes.values():
            if node.alive():
                node.signal(signal.SIGCONT)
                node.signal(signal.SIGTERM)
        for node in self.nodes.values():
            node.stop()
        if self.links is not None:
            self.links.stop()

    def _forget(self, number: int) -> None:
        client = self.clients.pop(number, None)
        if client is not None:
            client.close()

    # --- what it says -------------------------------------------------------------------------------------------------

    def ask(self, number: int, api_key: int, version: int, body: dict[str, Any]) -> Any:
        """By a new connection where the node has ended the one of before: it does when it was paused or cut off from
        the others, so that clients look for leaders elsewhere."""
        is_kept = number in self.clients
        try:
            if not is_kept:
                self.clients[number] = WireClient(self.nodes[number].bootstrap)
            return self.clients[number].call(api_key, version, body)
        except OSError as error:
            self._forget(number)
            if is_kept and isinstance(error, ConnectionError):
                return self.ask(number, api_key, version, body)
            raise

    def metadata(self, number: int, topics: list[str] | None = None) -> Any:
        wanted = None if topics is None else [{"name": name} for name in topics]
        return self.ask(number, METADATA, 8, {"topics": wanted, "allow_auto_topic_creation": False})

    def await_brokers(self, wanted: set[int], seconds: float = 30) -> None:
        """Until every node that is up knows these brokers, and no others, as up."""
        self.until(
            lambda: all({each["node_id"] for each in self.metadata(number)["brokers"]} == wanted for number in self.up),
            f"every node knows the brokers {sorted(wanted)}",
            seconds,
        )

    def partition(self, topic: str, index: int = 0, ask: int | None = None) -> dict[str, Any]:
        found = self.metadata(ask or self.up[0], [topic])["topics"][0]
        of_index = [each for each in found["partitions"] if each["partition_index"] == index]
        assert of_index, f"node {ask or self.up[0]} does not know {topic}-{index} yet"
        return dict(of_index[0])

    def leader(self, topic: str, index: int = 0) -> int:
        return int(self.partition(topic, index)["leader_id"])

    def await_isr(self, topic: str, size: int, partitions: int = 1, seconds: float = 30) -> None:
        self.until(
            lambda: all(len(self.partition(topic, index)["isr_nodes"]) == size for index in range(partitions)),
            f"{topic} has {size} replicas in sync",
            seconds,
        )

    def controller(self) -> int:
        """The leader of the quorum, -1 while there is none."""
        body = {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}
        answer = self.ask(self.up[0], DESCRIBE_QUORUM, 1, body)
        if answer["error_code"] or answer["topics"][0]["partitions"][0]["error_code"]:
            return -1
        return int(answer["topics"][0]["partitions"][0]["leader_id"])

    def create(self, name: str, partitions: int = 1, replicas: int = 3, **config: str) -> str:
        admin = AdminClient({**QUIET, "bootstrap.servers": self.bootstrap})
        settings = {key.replace("_", "."): value for key, value in config.items()}
        admin.create_topics([NewTopic(name, partitions, replicas, config=settings)])[name].result(20)
        self.until(
            lambda: all(
                topic["error_code"] == 0 and all(part["leader_id"] > 0 for part in topic["partitions"])
                for number in self.up
                for topic in self.metadata(number, [name])["topics"]
            ),
            f"{name} is everywhere",
            20,
        )
        return name

    def until(self, done: Callable[[], bool], what: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        problem: Exception | None = None
        while True:
            try:
                if done():
                    return
                problem = None
            except (OSError, AssertionError, StopIteration) as error:
                problem = error
            if time.monotonic() > deadline:
                logs = "\n".join(f"--- node {number}\n{node.tail(15)}" for number, node in self.nodes.items())
                raise AssertionError(f"not within {seconds} s: {what} ({problem!r})\n{logs}")
            time.sleep(0.02)

    def folder_of(self, number: int, topic: str, index: int = 0) -> Path:
        return self.nodes[number].data / f"{topic}-{index}"

    def memory_bytes(self) -> int:
        return sum(self.nodes[number].rss_bytes() for number in self.up)


def _ports(kinds: int, count: int) -> list[list[int]]:
    ports: set[int] = set()
    while len(ports) < kinds * count:
        ports.add(free_port())
    found = sorted(ports)
    return [found[at : at + count] for at in range(0, kinds * count, count)]


def _by_number(numbers: Sequence[int], ports: Sequence[int]) -> dict[int, int]:
    return dict(zip(numbers, ports, strict=True))


CHAOS = os.environ.get("BARNABAS_CHAOS") == "1"
"""Set by `make chaos`: the long form of the tests."""
SECURE = os.environ.get("BARNABAS_CHAOS_SECURE") == "1"
"""The nodes of every cluster speak TLS with each other and log in by certificate, as with `up --secure`."""
