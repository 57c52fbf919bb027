"""Runs a node in a thread of the test's process, with its own loop.

Faults are ordered by the names a reader of Kafka's documentation knows: an API ("Produce", "Fetch", "JoinGroup") and an
error ("NOT_LEADER_OR_FOLLOWER"). Stopping is clean unless `kill` is asked for, which leaves the log as a crash would.
"""

import asyncio
import difflib
import logging
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.broker.network.faults import Fault, Faults
from barnabas.broker.node import Node
from barnabas.broker.settings.sources import load_settings
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.testing.clock import MovableLoop, moved_time, put_back
from barnabas.wire.apis import SERVED

if TYPE_CHECKING:
    from barnabas.testing.security import Security

_START_SECONDS = 30.0
_THREAD = "barnabas-node"
_KEY_BY_NAME = {api.name.replace("_", ""): api.key for api in SERVED.values()}
_SHORT_ERRORS = {"NOT_LEADER": ErrorCode.NOT_LEADER_OR_FOLLOWER}


class RunningNode:
    """A live node and the levers a test may pull."""

    def __init__(
        self,
        data_dir: Path,
        settings: Mapping[str, object] | None = None,
        port: int = 0,
        *,
        movable_clock: bool = False,
        secure: bool = False,
        users: Mapping[str, str] | None = None,
    ) -> None:
        self._time = moved_time() if movable_clock else None
        self.data_dir = data_dir
        if users and not secure:
            raise ValueError("users are for a secured node: running_node(secure=True, users={...})")
        self._security = _security(data_dir, users) if secure else None
        self.bootstrap = ""
        self._port = port
        self._settings = _checked({name: _text(value) for name, value in (settings or {}).items()})
        self._faults = Faults()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._node: Node | None = None
        self._ready: Future[str] = Future()

    # --- life -------------------------------------------------------------------------------------------------------

    def start(self) -> "RunningNode":
        self.launch()
        return self.wait_until_ready()

    def launch(self) -> None:
        """Starts without waiting; a node of several waits for the others."""
        self._ready = Future()
        self._thread = threading.Thread(target=self._run, args=(self._ready,), name=_THREAD, daemon=True)
        self._thread.start()

    def wait_until_ready(self) -> "RunningNode":
        self.bootstrap = self._ready.result(_START_SECONDS)
        self._port = int(self.bootstrap.rsplit(":", 1)[1])  # a restart comes back where its clients look
        return self

    def ask_to_stop(self) -> None:
        """Begins a clean stop without waiting for its end."""
        if self._thread is not None and self._node is not None and self._loop is not None:
            with suppress(RuntimeError):  # it has ended by itself, and its loop is closed
                self._loop.call_soon_threadsafe(self._node.stopped.set)

    def stop(self) -> None:
        """Stop cleanly; the data stays until the context ends, and `start` goes on with it."""
        if self._thread is None:
            return
        self.ask_to_stop()
        self._thread.join(_START_SECONDS)
        self._thread = self._node = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def _run(self, ready: "Future[str]") -> None:
        try:
            with asyncio.Runner(loop_factory=_new_loop if self._time is None else MovableLoop) as runner:
                runner.run(self._main(ready))
        except BaseException as error:  # raised again in the thread that waits for the node
            if not ready.done():
                ready.set_exception(error)
            else:
                logging.getLogger(__name__).exception("the node stopped")

    async def _main(self, ready: "Future[str]") -> None:
        self._loop = asyncio.get_running_loop()
        security = self._security
        protocol, own = ("PLAINTEXT", {}) if security is None else ("SASL_SSL", security.settings())
        flags = {"listeners": f"{protocol}://127.0.0.1:{self._port}"} | own | self._settings
        node = Node(load_settings(flags=flags, environ={}).settings, self.data_dir)
        node.faults = self._faults
        await node.start()
        if security is not None:
            await security.create_users(node)
        self._node = node
        ready.set_result(node.bootstrap)
        await node.stopped.wait()
        await node.stop()

    # --- security ---------------------------------------------------------------------------------------------------

    def login(self, user: str = "admin") -> dict[str, str]:
        """How a client logs in at a secured node: `Producer(node.bootstrap, config=node.login("alice"))`."""
        if self._security is None:
            raise ValueError("this node is not secured: running_node(secure=True)")
        return self._security.login(user)

    # --- time -------------------------------------------------------------------------------------------------------

    def advance(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0, days: float = 0) -> None:
        """Moves the time forward: what is due by then happens now. Needs `movable_clock=True`."""
        if self._time is None:
            raise ValueError("this node's clock is not movable: running_node(movable_clock=True)")
        by_s = seconds + 60 * minutes + 3_600 * hours + 86_400 * days
        if by_s < 0:
            raise ValueError("time moves forward only")
        self._time.moved_s += by_s
        if self._loop is not None:
            with suppress(RuntimeError):  # it is stopped now
                self._loop.call_soon_threadsafe(lambda: None)  # a look at the timers

    # --- faults -----------------------------------------------------------------------------------------------------

    def fail_next(self, api: str, error: str | ErrorCode, *, times: int = 1) -> None:
        """The next requests of this API get this error instead of being done."""
        self._order(Fault(_api_key(api), error=_error_code(error)), times)

    def delay(self, api: str, milliseconds: int, *, times: int = -1) -> None:
        """Requests of this API wait first; every one until `heal`, or so many."""
        if milliseconds < 0:
            raise ValueError(f"delay({api!r}, {milliseconds}): a delay is 0 ms or more")
        self._order(Fault(_api_key(api), delay_ms=milliseconds), times)

    def disconnect_next(self, api: str, *, times: int = 1) -> None:
        """The connection is cut when such a request arrives, before anything is done."""
        self._order(Fault(_api_key(api), disconnect=True), times)

    def _order(self, fault: Fault, times: int) -> None:
        if times < 1 and times != -1:
            raise ValueError(f"times={times}: a number of requests, or -1 for all until heal()")
        self._faults.order(fault, times)

    def heal(self) -> None:
        """No more faults."""
        self._faults.clear()


@contextmanager
def running_node(
    settings: Mapping[str, object] | None = None,
    *,
    data_dir: Path | None = None,
    movable_clock: bool = False,
    secure: bool = False,
    users: Mapping[str, str] | None = None,
) -> Iterator[RunningNode]:
    """A node for the length of a `with`, settings by Kafka's names; its log is in a temporary folder by default.

    `secure`: with TLS, logins and access rules; `users` are names and passwords beside the admin."""
    with tempfile.TemporaryDirectory(prefix="barnabas-", ignore_cleanup_errors=True) as temporary:
        folder = data_dir or Path(temporary)
        node = RunningNode(folder, settings, movable_clock=movable_clock, secure=secure, users=users).start()
        try:
            yield node
        finally:
            node.stop()
            if movable_clock and data_dir is None and not _any_runs():
                put_back()


def _security(data_dir: Path, users: Mapping[str, str] | None) -> "Security":
    from barnabas.testing.security import Security  # certificates and all that: for tests that ask for it

    return Security(data_dir, users)


def _any_runs() -> bool:
    return any(thread.name == _THREAD for thread in threading.enumerate())


def _api_key(name: str) -> int:
    key = _KEY_BY_NAME.get(name.replace("_", "").lower())
    if key is None:
        known = sorted(_camel(api.name) for api in SERVED.values())
        near = difflib.get_close_matches(name, known, n=1)
        raise ValueError(f"no API is called {name!r}{f'. Did you mean {near[0]}?' if near else f'; there are {known}'}")
    return key


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _error_code(error: str | ErrorCode) -> ErrorCode:
    try:
        found = error if isinstance(error, ErrorCode) else _SHORT_ERRORS.get(error) or ErrorCode[error]
    except KeyError:
        found = ErrorCode.NONE
    if found is ErrorCode.NONE:  # which is the success of a request that was not done
        raise ValueError(f"{error!r} is not the name of a Kafka error, such as NOT_LEADER_OR_FOLLOWER")
    return found


def _checked(settings: dict[str, str]) -> dict[str, str]:
    """A server.properties may hold names of another release; what stands in a test was typed for this one."""
    try:
        warnings = load_settings(flags=settings, environ={}).warnings
    except KafkaError as error:
        raise ValueError(_plain(error.message)) from None
    if warnings:
        raise ValueError(_plain(warnings[0]))
    return settings


def _plain(text: str) -> str:
    return text.removeprefix("command line: ")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _new_loop() -> asyncio.AbstractEventLoop:
    import uvloop

    return uvloop.new_event_loop()
