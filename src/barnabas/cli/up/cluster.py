"""`barnabas up --nodes 3`: a cluster on this machine, one process a node, all in one terminal.

Every node is an ordinary `barnabas up` with its own port and folder, and its zone where those are named; with
--witness the last one is a controller without data. This process starts them, shows what they say with
the node's number in its colour, and ends them together at Ctrl-C. A node that dies (or is killed, to see what happens)
is started again; one that cannot start is left down after a few attempts, and said so.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from barnabas.cli.common.child import start_command
from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.screen import note, paint, say
from barnabas.cli.up.options import UpOptions
from barnabas.cli.up.settings import HOST, PORT, default_cluster_data, flags, refuse_to_open, zones

if TYPE_CHECKING:
    from barnabas.cli.common.child import ServiceChild

NODES_MAX = 9
_COLOURS = ("green", "cyan", "yellow", "blue", "red")
_READY_SECONDS = 60.0
_STOP_SECONDS = 30.0
_AGAIN_SECONDS = 2.0  # a node that died is started again after this long
_ATTEMPTS_MAX = 3  # starts in a row that came to nothing


def run(options: UpOptions) -> int:
    count = 1 if options.nodes is None else options.nodes
    if not 1 <= count <= NODES_MAX:
        raise usage(f"--nodes {count}: a cluster on one machine has 1 to {NODES_MAX} nodes")
    if options.config is not None:
        raise usage("--nodes and --config do not go together", "Start each node with its own --config file.")
    given = flags(options)
    for name in ("node.id", "controller.quorum.voters", "advertised.listeners"):
        if name in given:
            raise usage(f"--nodes chooses {name} by itself", "Leave it out, or start each node with its own --config.")
    if options.witness and count < 3:
        raise usage(f"--witness with --nodes {count}: two data nodes and a witness are the least", "Use --nodes 3.")
    zones(options, count)  # a wrong list is refused before a folder is made
    host = options.host or HOST
    ports = _ports(host, PORT if options.port is None else options.port, count)
    data = Path(options.data).expanduser() if options.data else default_cluster_data()
    _check_writable(data)
    return Cluster(host, ports, data, options).run()


def _check_writable(data: Path) -> None:
    """Once for all nodes, instead of a line from each at every attempt."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data):
            pass
    except OSError as error:
        raise Failure(
            f"cannot use {data} as data directory: {(error.strerror or str(error)).lower()}",
            "Check who owns it, or use another folder with --data.",
        ) from None


def _ports(host: str, first: int, count: int) -> list[int]:
    """Neighbours from `first` on, or any free ones for 0. A taken one is found now, before anything is started."""
    if first == 0:
        with contextlib.ExitStack() as held:
            free = [held.enter_context(socket.socket()) for _ in range(count)]
            for each in free:
                each.bind((host, 0))
            return [each.getsockname()[1] for each in free]
    if first + count > 65536:
        raise usage(
            f"{count} nodes from port {first} on go beyond 65535", "Use a lower --port, or 0 for any free ones."
        )
    for port in range(first, first + count):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                raise Failure(
                    f"cannot listen on {host}:{port}: {(error.strerror or str(error)).lower()}",
                    "Use other ports with --port, or --port 0 for any free ones.",
                ) from None
    return list(range(first, first + count))


class _Node:
    def __init__(self, number: int, port: int, zone: str | None, witness: bool) -> None:
        self.number = number
        self.port = port
        self.zone = zone
        self.witness = witness
        self.process: subprocess.Popen[str] | None = None
        self.ready = False
        self.failures = 0
        self.start_at = 0.0
        self.tag = paint(f"node {number} |", _COLOURS[(number - 1) % len(_COLOURS)])


class Cluster:
    def __init__(self, host: str, ports: list[int], data: Path, options: UpOptions) -> None:
        self.host = host
        self.data = data
        self.options = options
        places = zones(options, len(ports))
        self.nodes = [
            _Node(number, port, zone, options.witness and number == len(ports))
            for number, (port, zone) in enumerate(zip(ports, places, strict=True), 1)
        ]
        self._data_nodes = [node for node in self.nodes if not node.witness]
        self.voters = ",".join(f"{node.number}@{host}:{node.port}" for node in self.nodes)
        self.bootstrap = ",".join(f"{host}:{node.port}" for node in self._data_nodes)
        self._bundle = Path(options.bundle).expanduser() if options.bundle is not None else data / "secure"
        self._said: SimpleQueue[tuple[_Node, str | None]] = SimpleQueue()
        self._stopping = False
        self._services: list[ServiceChild] = []
        self._metrics: list[str] = []
        if options.console and "metrics.listeners" not in flags(options):
            from barnabas.cli.console.child import metrics_listeners

            self._metrics = metrics_listeners(len(ports))

    def run(self) -> int:
        begun = time.monotonic()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        try:
            self._make_bundle()
            for node in self.nodes:
                self._start(node)
            self._watch(lambda: all(node.ready for node in self.nodes), begun + _READY_SECONDS)
            if not self._stopping:
                self._tell_ready(time.monotonic() - begun)
                self._start_services()
                self._watch(lambda: False, None)
        finally:
            clean = self._stop()
        if not self.options.quiet:
            say("stopped cleanly" if clean else "stopped; the next start checks and repairs what was cut off")
        return 0

    def _on_signal(self, number: int, frame: object) -> None:
        if self._stopping:
            os._exit(128 + number)
        self._stopping = True

    def _make_bundle(self) -> None:
        """Before the nodes start, so that one authority signs for all."""
        if not self.options.secure:
            refuse_to_open(self.data)
        else:
            from barnabas.cli.secure import bundle

            for node in self.nodes:
                bundle.ensure(self._bundle, f"node-{node.number}", [self.host])

    # --- one node -----------------------------------------------------------------------------------------------------

    def _start(self, node: _Node) -> None:
        settings = [
            f"node.id={node.number}",
            f"controller.quorum.voters={self.voters}",
            *(f"metrics.listeners={each}" for each in self._metrics[node.number - 1 : node.number]),
        ]
        if self.options.witness:  # it is a voter, but no broker: those are counted, where nobody says how many
            settings.append(f"default.replication.factor={min(3, len(self._data_nodes))}")
        settings += self.options.set
        command = ["up", "--quiet"]
        command += [] if node.zone is None else ["--zone", node.zone]
        command += ["--witness"] if node.witness else []
        command += ["--host", self.host, "--port", str(node.port), "--data", str(self.data / f"node-{node.number}")]
        command += [word for setting in settings for word in ("--set", setting)]
        if self.options.secure:
            command += ["--secure", "--bundle", str(self._bundle)]
        if self.options.log_level is not None:
            command += ["--log-level", self.options.log_level]
        if self.options.log_format is not None:
            command += ["--log-format", self.options.log_format]
        node.ready = False
        node.process = start_command(command, signal.SIGKILL)
        threading.Thread(target=self._listen, args=(node, node.process), daemon=True).start()

    def _listen(self, node: _Node, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._said.put((node, line.rstrip("\n")))
        process.wait()
        self._said.put((node, None))

    def _watch(self, done: Callable[[], bool], deadline: float | None) -> None:
        while not self._stopping and not done():
            if deadline is not None and time.monotonic() > deadline:
                late = ", ".join(str(node.number) for node in self.nodes if not node.ready)
                raise Failure(f"node {late} is not ready after {_READY_SECONDS:.0f} s", "See what it said above.")
            with contextlib.suppress(Empty):
                self._hear(*self._said.get(timeout=0.1))
            for node in self.nodes:
                if node.process is None and node.failures < _ATTEMPTS_MAX and time.monotonic() >= node.start_at:
                    self._start(node)

    def _hear(self, node: _Node, line: str | None) -> None:
        if line is None:
            self._ended(node)
        elif not node.ready and line == f"{self.host}:{node.port}":
            if node.failures or node.start_at:
                note(f"{node.tag} is back")
            node.ready, node.failures = True, 0
        else:
            note(f"{node.tag} {line}")

    def _ended(self, node: _Node) -> None:
        assert node.process is not None
        code, node.process = node.process.returncode, None
        if self._stopping:
            return
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"left with exit code {code}"
        if not node.ready:
            node.failures += 1
        node.ready = False
        node.start_at = time.monotonic() + _AGAIN_SECONDS
        again = f"started again in {_AGAIN_SECONDS:.0f} s" if node.failures < _ATTEMPTS_MAX else "it stays down"
        note(f"{node.tag} {how}; {again}")
        if node.failures >= _ATTEMPTS_MAX and not any(each.process for each in self.nodes):
            raise Failure("no node can start", "See what they said above.")

    # --- all of them --------------------------------------------------------------------------------------------------

    def _tell_ready(self, seconds: float) -> None:
        from barnabas.cli.common import human
        from barnabas.cli.up.screen import next_steps

        if self.options.quiet:
            say(self.bootstrap)
            sys.stdout.flush()
            return
        took = paint(f"ready in {human.duration(seconds)}", "dim")
        say(f"{paint('barnabas', 'bold')}: {len(self.nodes)} nodes are up on {paint(self.bootstrap, 'green')}  {took}")
        say(f"{paint('data in', 'dim')} {self.data}")
        if self.options.secure:
            from barnabas.cli.up.secure import tell

            tell(self.bootstrap, self.options, self.data)
        if not sys.stdout.isatty():  # a journal or a file: nobody there types commands
            sys.stdout.flush()
            return
        say()
        say("Try, from another terminal:")
        flag = "" if self.nodes[0].port == PORT and self.host == HOST else f" -b {self.bootstrap}"
        for line in (f"barnabas cluster status{flag}", *next_steps(f"{self.host}:{self.nodes[0].port}")[:2]):
            say(f"  {line}")
        say(f"  barnabas cluster kill-test{flag}   {paint('kills a leader under load and shows what it costs', 'dim')}")
        say()
        say(paint("Ctrl-C stops all of them cleanly.", "dim"))
        sys.stdout.flush()

    def _start_services(self) -> None:
        registry = None
        if self.options.registry:
            from barnabas.cli.registry.child import RegistryChild

            child = RegistryChild(self.bootstrap, note)
            registry = child.address
            self._services.append(child)
        if self.options.console:
            from barnabas.cli.console.child import ConsoleChild

            self._services.append(ConsoleChild(self.bootstrap, note, registry=registry))
        if self.options.mirror is not None:
            from barnabas.cli.mirror.child import MirrorChild

            self._services.append(MirrorChild(self.options.mirror, note))

    def _stop(self) -> bool:
        """One after the other, so that each can hand over what it leads; the last ones have nobody to hand it to."""
        self._stopping = True
        clean = True
        for service in self._services:
            service.stop()
        for node in self.nodes:
            if node.process is not None and node.process.poll() is None:
                node.process.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        for node in self.nodes:
            if node.process is None:
                continue
            try:
                code = node.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                node.process.kill()
                code = node.process.wait()
                note(f"{node.tag} did not stop in {_STOP_SECONDS:.0f} s and was killed")
            clean = clean and code == 0
        return clean
