"""A deterministic event loop: virtual time, simulated threads, no sockets. Real asyncio tasks and futures run on it.

Callbacks run in the order of their time, and of their making where times are equal; nothing else decides. Time stands
still while a callback runs and leaps to the next one when none is ready, so an hour of waiting costs nothing. Each
callback belongs to the process it was made in (`current`), which is how a process is killed or paused.

A function handed to a thread runs whole at a moment a little later, and its result comes back a little later still: a
crash may fall before, between or behind the two.
"""

import asyncio
import contextvars
import heapq
import inspect
import time
import warnings
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future
from random import Random
from typing import TYPE_CHECKING, TypeVar

from barnabas.sim.callback_cost import CallbackCost
from barnabas.sim.process import Crashed, Process

if TYPE_CHECKING:
    from barnabas.sim.network import SimSocket

T = TypeVar("T")
Connect = Callable[[Callable[[], asyncio.BaseProtocol], str, str, int], Awaitable[asyncio.Transport]]
_AT_ONCE_MAX = 100_000  # callbacks without a moment passing: somebody asks again and again without waiting


class Stuck(Exception):
    """Nothing is left to do, and what was waited for has not come; or nothing else is done for ever."""


class SimHandle:
    __slots__ = ("_args", "_callback", "_cancelled", "_context", "_when", "owner")

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context | None,
        owner: Process | None,
        when: float,
    ) -> None:
        self._callback = callback
        self._args = args
        self._context = context if context is not None else contextvars.copy_context()
        self._cancelled = False
        self._when = when
        self.owner = owner

    def cancel(self) -> None:
        self._cancelled = True

    def cancelled(self) -> bool:
        return self._cancelled

    def when(self) -> float:
        return self._when

    def run(self) -> None:
        self._context.run(self._callback, *self._args)


class SimLoop(asyncio.AbstractEventLoop):
    def __init__(self, random: Random) -> None:
        self.random = random
        self.current: Process | None = None
        self.now = 1000.0  # not zero: a forgotten "since zero" should show
        self.steps = 0
        self.cost = CallbackCost()
        self.on_crash: Callable[[Process], None] = lambda process: None
        self.on_error: Callable[[dict[str, object]], None] = lambda context: None
        self.connect: Connect  # the network's
        self._ready: deque[SimHandle] = deque()
        self._timers: list[tuple[float, int, SimHandle]] = []
        self._made = 0
        self._running = False
        self._closed = False

    # --- scheduling -------------------------------------------------------------------------------------------------

    def time(self) -> float:
        return self.now

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: object, context: contextvars.Context | None = None
    ) -> SimHandle:
        handle = SimHandle(callback, args, context, self.current, self.now)
        if not self._closed:
            self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: object, context: contextvars.Context | None = None
    ) -> SimHandle:
        return self._at(self.now + max(delay, 0.0), self.current, callback, args, context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: object, context: contextvars.Context | None = None
    ) -> SimHandle:
        return self._at(when, self.current, callback, args, context)

    def for_process(
        self, owner: Process | None, delay: float, callback: Callable[..., object], *args: object
    ) -> SimHandle:
        """Call back later in the name of another process, or of none (the world itself)."""
        return self._at(self.now + delay, owner, callback, args, contextvars.Context())

    def _at(
        self,
        when: float,
        owner: Process | None,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context | None,
    ) -> SimHandle:
        handle = SimHandle(callback, args, context, owner, when)
        if not self._closed:
            self._made += 1
            heapq.heappush(self._timers, (when, self._made, handle))
        return handle

    # --- running ----------------------------------------------------------------------------------------------------

    def run_until(self, done: Callable[[], bool]) -> None:
        """Run until `done` says so after a callback; raises Stuck when nothing is left before that."""
        ready, timers = self._ready, self._timers
        asyncio._set_running_loop(self)
        self._running = True
        at_once = 0
        try:
            while not done():
                if ready:
                    handle = ready.popleft()
                    at_once += 1
                    if at_once > _AT_ONCE_MAX:
                        raise Stuck(f"time stands still: {handle.owner} runs {handle._callback} again and again")
                elif timers:
                    when, _, handle = heapq.heappop(timers)
                    if handle._cancelled:
                        continue
                    if when > self.now:
                        self.now, at_once = when, 0
                else:
                    raise Stuck
                self._run(handle)
        finally:
            self._running = False
            asyncio._set_running_loop(None)

    def _run(self, handle: SimHandle) -> None:
        owner = handle.owner
        if handle._cancelled:
            return
        if owner is not None:
            if owner.dead:
                return
            if owner.paused:
                owner.deferred.append(handle)
                return
        self.current = owner
        self.steps += 1
        began = time.thread_time_ns() - self.cost.in_threads_ns
        try:
            handle.run()
        except Crashed:
            pass
        except Exception as error:  # as asyncio does: reported, and the loop goes on
            self.call_exception_handler({"message": f"a callback failed: {handle._callback}", "exception": error})
        finally:
            self.current = None
        if owner is not None and owner.is_node:
            spent = time.thread_time_ns() - self.cost.in_threads_ns - began
            self.cost.took(spent, self.steps, owner.name, handle._callback)
        if owner is not None and owner.crashed and not owner.dead:
            self.on_crash(owner)

    def spawn(self, owner: Process | None, work: Coroutine[object, None, T]) -> "asyncio.Task[T]":
        """A task that belongs to a process."""
        before, self.current = self.current, owner
        try:
            return self.create_task(work)
        finally:
            self.current = before

    def resume(self, process: Process) -> None:
        process.paused = False
        self._ready.extend(process.deferred)
        process.deferred.clear()

    def kill(self, process: Process) -> None:
        process.dead = True
        process.deferred.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # what never began holds others that never will
            for task in process.tasks:
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                work = task.get_coro()
                if inspect.iscoroutine(work) and inspect.getcoroutinestate(work) == inspect.CORO_CREATED:
                    work.close()

    def close(self) -> None:
        self._closed = True
        self._ready.clear()
        self._timers.clear()

    # --- what asyncio asks of a loop --------------------------------------------------------------------------------

    def create_future(self) -> "asyncio.Future[object]":
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Generator["asyncio.Future[object] | None", None, T] | Coroutine[object, None, T],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> "asyncio.Task[T]":
        task: asyncio.Task[T] = asyncio.Task(coro, loop=self, name=name or "task", context=context)
        owner = self.current
        if owner is not None:
            owner.tasks.add(task)
            task.add_done_callback(owner.tasks.discard)
        return task

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, object]) -> None:
        if not self._closed:
            self.on_error(context)

    def run_in_executor(self, executor: object, func: Callable[..., object], *args: object) -> "asyncio.Future[object]":  # type: ignore[override]
        assert isinstance(executor, SimThreads), "only simulated threads run here"
        future = self.create_future()

        def told(result: object, error: BaseException | None) -> None:
            if future.cancelled():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        executor.start(func, args, told)
        return future

    async def create_server(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], *, sock: "SimSocket", **_: object
    ) -> "SimSocket":
        return sock.serve(protocol_factory)

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
        *,
        ssl: object = None,
        **_: object,
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """For what connects by the loop instead of the platform: a link to another cluster."""
        assert ssl is None and self.current is not None, "processes connect, and the simulated network has no TLS"
        protocol = protocol_factory()
        return await self.connect(lambda: protocol, self.current.host, host, port), protocol


class SimThreads(Executor):
    """Threads of one process; `delay` draws how long a job waits to run, and then how long its result takes."""

    def __init__(self, loop: SimLoop, delay: Callable[[], float]) -> None:
        self._loop = loop
        self._delay = delay
        self._owner = loop.current
        self._waiting: dict[int, Callable[[], None]] = {}
        self._made = 0

    def start(
        self, func: Callable[..., object], args: Iterable[object], told: Callable[[object, BaseException | None], None]
    ) -> None:
        self._made += 1
        number = self._made

        def run() -> None:
            if self._waiting.pop(number, None) is None:
                return
            began = time.thread_time_ns()
            try:
                result, error = func(*args), None
            except Exception as problem:  # handed to whoever awaits the thread
                result, error = None, problem
            self._loop.cost.in_threads_ns += time.thread_time_ns() - began
            self._loop.for_process(self._owner, self._delay(), told, result, error)

        self._waiting[number] = run
        self._loop.for_process(self._owner, self._delay(), run)

    def submit(self, fn: Callable[..., T], /, *args: object, **kwargs: object) -> "Future[T]":
        future: Future[T] = Future()
        self.start(lambda: fn(*args, **kwargs), (), lambda result, error: None)
        return future

    def map(self, fn: Callable[..., T], *iterables: Iterable[object], **_: object) -> Iterator[T]:
        return iter([fn(*items) for items in zip(*iterables, strict=False)])

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """All that waits is done now: whoever calls this waits for it."""
        for run in list(self._waiting.values()):
            run()
