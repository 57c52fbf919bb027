"""One client's socket: frames in, answers out, in order.

Bytes are received into one buffer that all connections of the node share: the loop fills it and we empty it within
one callback, so an idle connection owns no buffer at all. Only the part of a frame that has not arrived whole is
kept, in a buffer of the connection's own, and the rest of that frame is received straight behind it.

Requests are handled in order of arrival. A handler answers at once, or gives a future: then the next request is
handled while the first one waits (pipelined appends, long polls), and answers still leave in request order. A handler
that is a coroutine (an admin request, a join) holds up the requests behind it, as a Kafka broker does; what it gives
may be a future again, which does not.

Reading stops while the client does not read its answers, while too many answers wait, while a coroutine runs, and while
the client is throttled by a quota (throttling.py).

On a listener with SASL (security.py) a login comes before the first request that the dispatcher sees; after it such a
connection is like any other.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING

from barnabas.broker.network.answer_slot import Reply as Reply
from barnabas.broker.network.answer_slot import Slot
from barnabas.broker.network.session import OWN, Session, plain_host
from barnabas.broker.network.writer import Piece, TlsWriter, Writer, pause_reading, resume_reading, writer_for
from barnabas.model import limits
from barnabas.wire.errors import ProtocolError
from barnabas.wire.frames import LENGTH_BYTES, frame_end

if TYPE_CHECKING:
    from barnabas.broker.network.listener import Listener
    from barnabas.broker.network.login.conversation import Login

log = logging.getLogger(__name__)

_TLS_CLOSE_SECONDS = 1.0
_QUEUED_MAX_BYTES = limits.CONNECTION_QUEUED_MAX_BYTES


class Connection(asyncio.BufferedProtocol):
    def __init__(self, listener: "Listener") -> None:
        self._listener = listener
        self._dispatch: Callable[[Connection, memoryview], Reply | Awaitable[Reply]] = listener.dispatcher.handle
        self._loop_time = listener.loop_time
        self._shared = listener.receive_buffer
        self._request_max_bytes = listener.request_max_bytes
        self._kept = memoryview(b"")  # a buffer of our own, only while a frame is incomplete or held up
        self._kept_bytes = 0
        self._frame_bytes = 0  # what the first kept frame needs
        self._memory = listener.request_memory
        self._starved = False  # there is no memory for the rest of the frame
        self._out: list[Piece] = []  # answers made in this callback
        self._slots: deque[Slot] = deque()  # answers that wait, oldest first
        self._task: asyncio.Task[Reply] | asyncio.TimerHandle | None = None  # what holds up the next request
        self._muted_until = self.frame_begun = 0.0
        self._reading = True
        self._inside = False
        self.closed = False
        self._on_close: list[Callable[[], None]] = []
        self.opened_at = self.last_active = listener.loop_time()
        self.client_host = ""
        self.local_address: tuple[str, int] = ("", 0)
        self.session = OWN  # until the connection is made
        self._writer: Writer
        self._ends_when_sent = False

    # --- the loop calls these -----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "pause_reading")
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        peer, local = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self.client_host = plain_host(peer[0]) if peer else ""
        self.local_address = host, port = (local[0], local[1]) if local else ("", 0)
        name = self._listener.names.get(port, "")
        self.session = Session(self.client_host, host, port, name, client_port=peer[1] if peer else 0, connection=self)
        self._writer = writer_for(self._transport, self._resume_if_room)
        if self._listener.admit(self) and (security := self._listener.security.get(port)) is not None:
            self._dispatch = security.refuse  # until it is known who is at the other end
            security.begin(self, self._transport)

    def ask_login(self, login: "Login") -> None:
        """Before everything else."""
        self.session.login = login
        self.login_expired()

    def login_ended(self) -> None:
        self._dispatch = self._listener.dispatcher.handle
        self._request_max_bytes = self._listener.request_max_bytes

    def login_expired(self) -> None:
        assert self.session.login is not None
        self._dispatch = self.session.login.dispatch
        self._request_max_bytes = self.session.login.message_max_bytes

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._writer.close()
        for slot in self._slots:
            if slot.future is not None:
                slot.future.cancel()  # a parked fetch leaves its partitions
        self._slots.clear()
        self._kept_bytes = 0
        self._set_buffer(memoryview(b""))
        self._memory.gone(self)
        if self._task is not None:
            self._task.cancel()
        self._listener.forget(self)
        if self.session.login is not None:
            self.session.login.close()
        then, self._on_close = self._on_close, []
        for callback in then:
            callback()

    def on_close(self, then: Callable[[], None]) -> None:
        """Called when the connection is gone, whoever ended it."""
        self._on_close.append(then)

    @property
    def watched(self) -> bool:
        """Somebody counts on this connection while nothing is said on it: the session of a broker."""
        return bool(self._on_close)

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._kept_bytes:
            return self._kept[self._kept_bytes : self._frame_bytes]
        return self._shared

    def buffer_updated(self, nbytes: int) -> None:
        if self.closed:
            return
        self.last_active = self._loop_time()
        self._inside = True
        try:
            if self._kept_bytes:
                self._kept_bytes += nbytes
                self._handle_kept()
            else:
                used = self._handle_frames(self._shared, 0, nbytes)
                if used < nbytes and not self.closed:
                    self._keep(self._shared[used:nbytes])
        except ProtocolError as error:
            self.refuse(str(error))
        except Exception:  # a defect of ours costs this connection, not the node
            log.exception("a request from %s failed; its connection is closed", self.client_host)
            self.abort()
        finally:
            self._inside = False
        self._send()

    def resume_writing(self) -> None:
        try:
            self._writer.resume()
            self._resume_if_room()
        except OSError:
            self.abort()

    # --- frames ---------------------------------------------------------------------------------------------------

    def _handle_frames(self, view: memoryview, position: int, end: int) -> int:
        """Handle the whole frames in view[position:end]; gives the position after the last one handled."""
        while position < end and self._task is None and not self._ends_when_sent:
            behind = frame_end(view, position, end, self._request_max_bytes)
            if not behind or behind > end:
                break
            result = self._dispatch(self, view[position + LENGTH_BYTES : behind])
            if type(result) is bytes and not self._slots:
                self._out.append(result)
            elif result is not None:
                self._take(result)
            position = behind
            if self.closed or self._ends_when_sent:
                return end
        return position

    def _keep(self, rest: memoryview) -> None:
        """Copy what cannot be handled yet into a buffer of our own."""
        have = len(rest)
        if len(self._kept) < have:
            self._set_buffer(memoryview(bytearray(have)))
        self._kept[:have] = rest
        self._kept_bytes = have
        self.frame_begun = self.last_active
        self._memory.begun(self)
        if not self.closed:
            self._make_room()

    def _set_buffer(self, buffer: memoryview) -> None:
        change = len(buffer) - len(self._kept)
        self._kept = buffer
        self._memory.changed(change)

    def _make_room(self) -> None:
        """Room for the first kept frame, grown by doubling so that a claimed size alone allocates little."""
        have = self._kept_bytes
        self._frame_bytes = max(frame_end(self._kept, 0, have, self._request_max_bytes) or LENGTH_BYTES, have)
        wanted = min(self._frame_bytes, max(have * 2, limits.KEPT_FIRST_BYTES))
        if len(self._kept) < wanted:
            if not self._memory.may_grow(self, wanted - len(self._kept)):
                self._starved = True
                self._pause()
                return
            grown = memoryview(bytearray(wanted))
            grown[:have] = self._kept[:have]
            self._set_buffer(grown)

    def grow(self) -> None:
        """There is room for the rest of the frame now."""
        if self._starved and not self.closed:
            self._starved = False
            self._make_room()
            self._resume_if_room()

    def _handle_kept(self) -> None:
        have = self._kept_bytes
        used = self._handle_frames(self._kept, 0, have)
        if self.closed:
            return
        left = have - used
        if left and used:
            self._kept[:left] = bytes(self._kept[used:have])
            self.frame_begun = self.last_active
        self._kept_bytes = left
        if left:
            self._make_room()
        else:
            self._memory.ended(self)

    def release_buffer(self) -> None:
        """Called for a connection that has been quiet for a while, or when memory is short."""
        if not self._kept_bytes or self.closed:
            self._kept_bytes = 0
            self._set_buffer(memoryview(b""))

    @property
    def held_bytes(self) -> int:
        return len(self._kept)

    @property
    def waits_for_answer(self) -> bool:
        """What it holds are requests that wait behind another one."""
        return self._task is not None

    # --- answers --------------------------------------------------------------------------------------------------

    def _take(self, result: "Reply | Awaitable[Reply]") -> None:
        """Put what a handler gave into the order of answers."""
        slot = Slot()
        self._slots.append(slot)
        if isinstance(result, asyncio.Future):
            self._wait_for(slot, result)
        elif isinstance(result, Coroutine):
            self._task = task = asyncio.ensure_future(result)
            self._pause()
            task.add_done_callback(lambda task: self._coroutine_done(slot, task))
        else:
            assert not isinstance(result, Awaitable), "a handler gives a future or a coroutine"
            slot.ready, slot.reply = True, result
            self._release()
        if len(self._slots) > limits.CONNECTION_WAITING_REPLIES_MAX:
            self._pause()

    def _wait_for(self, slot: Slot, future: "asyncio.Future[Reply]") -> None:
        if future.done():
            self._finish(slot, future)
        else:
            slot.future = future
            future.add_done_callback(lambda done: self._finish(slot, done))

    def _finish(self, slot: Slot, future: "asyncio.Future[Reply]") -> None:
        if self.closed or future.cancelled():
            return
        if error := future.exception():
            if isinstance(error, ProtocolError):
                self.refuse(str(error))
            else:
                log.error("a request from %s failed; its connection is closed", self.client_host, exc_info=error)
                self.abort()
            return
        slot.ready, slot.reply = True, future.result()
        self._release()
        if not self._inside:
            self._send()
            self._resume_if_room()

    def _coroutine_done(self, slot: Slot, task: "asyncio.Task[Reply]") -> None:
        later = None if task.cancelled() or task.exception() is not None else task.result()
        if isinstance(later, asyncio.Future) and not self.closed:
            self._wait_for(slot, later)  # a long poll whose request took time to read
        else:
            self._finish(slot, task)
        self._go_on()

    def _go_on(self) -> None:
        """What held up the next request is over."""
        self._task = None
        if self.closed:
            return
        if (left := self._muted_until - self._loop_time()) > 0:
            self._task = asyncio.get_running_loop().call_later(left, self._go_on)
            return
        if self._kept_bytes:
            self.buffer_updated(0)  # the requests that waited
        self._resume_if_room()

    def mute(self, seconds: float, new: bool = False) -> None:
        """Handle no further request for so long; answers leave. `new`: the loop has begun to read it meanwhile."""
        self._muted_until = max(self._muted_until, self._loop_time() + seconds)
        self._reading = self._reading or new
        self._pause()
        if self._task is None:
            self._go_on()

    def _release(self) -> None:
        """Move the answers that are next in order to the way out."""
        slots = self._slots
        while slots and slots[0].ready:
            reply = slots.popleft().reply
            if isinstance(reply, bytes):
                self._out.append(reply)
            elif reply is not None:
                self._out.extend(reply)

    def _send(self) -> None:
        out = self._out
        if not out or self.closed:
            return
        self._out = []
        try:
            self._writer.write(out)
        except OSError:
            self.abort()
            return
        if self._ends_when_sent:
            self._end_if_sent()
        elif self._writer.queued_bytes > _QUEUED_MAX_BYTES:
            log.info("%s does not read its answers: reading its requests stops", self.client_host)
            self._pause()

    # --- flow control -----------------------------------------------------------------------------------------------

    def _pause(self) -> None:
        if self._reading and not self.closed:
            self._reading = False
            pause_reading(self._transport)

    def _resume_if_room(self) -> None:
        if self._ends_when_sent:
            self._end_if_sent()
        elif (
            not self._reading
            and not self.closed
            and self._task is None
            and not self._starved
            and len(self._slots) <= limits.CONNECTION_WAITING_REPLIES_MAX
            and self._writer.queued_bytes <= _QUEUED_MAX_BYTES // 2
        ):
            self._reading = True
            resume_reading(self._transport)

    @property
    def queued_memory(self) -> int:
        """Bytes of answers in memory that wait for the client to read; slices of files take none."""
        return self._writer.queued_memory

    @property
    def waiting(self) -> bool:
        """Does an answer still have to leave? Then the connection is not idle."""
        return bool(self._slots) or isinstance(self._task, asyncio.Task) or self._writer.queued_bytes > 0

    # --- ends -------------------------------------------------------------------------------------------------------

    def refuse(self, reason: str) -> None:
        """Close because of what the client sent."""
        line = f"connection from {self.client_host} closed: {reason}"
        self._listener.tell_refused("closed", self.client_host, self.session.listener, reason, line)
        self._send()
        self.close()

    def close_when_sent(self) -> None:
        """After the answer that is on its way; what else was sent is not read."""
        self._ends_when_sent = True
        self._pause()

    def _end_if_sent(self) -> None:
        if not self.closed and not self._slots and not self._out and self._writer.has_sent_all:
            self.close()

    def close(self) -> None:
        self.closed = True
        self._transport.close()
        if isinstance(self._writer, TlsWriter):  # which waits for the other side's goodbye, for half a minute
            asyncio.get_running_loop().call_later(_TLS_CLOSE_SECONDS, self._transport.abort)

    def abort(self) -> None:
        self.closed = True
        self._transport.abort()
