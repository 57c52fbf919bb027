"""Byte streams between simulated hosts: ordered, delayed, cut in odd places, and breakable as TCP is.

Between two hosts and in each direction there is a link. A blocked link holds what is sent until it heals (TCP would
send again); a cut connection loses what is on its way, and both ends hear of a reset. When a process is killed, its
kernel says so to the peers; when a host loses power nobody does, and only who sends again, once the host is back, is
told.
"""

import asyncio
import errno
from collections import deque
from collections.abc import Callable, Iterable

from barnabas.sim.loop import SimLoop
from barnabas.sim.process import Process
from barnabas.sim.trace import Trace

_WINDOW_BYTES = 256 * 1024  # on its way without counting as queued at the sender
Protocol = asyncio.BaseProtocol
Way = tuple[str, str]  # from a host, to a host


class Network:
    def __init__(self, loop: SimLoop, trace: Trace) -> None:
        self.loop = loop
        self.trace = trace
        self.listeners: dict[tuple[str, int], SimSocket] = {}
        self.ends: dict[int, End] = {}  # both ends of every open connection
        self.blocked: dict[tuple[str, str], int] = {}  # (from, to): how many faults block it
        self.loses: dict[str, Callable[[bytes], bool]] = {}  # host: which of its packets are lost at first
        self.delay_seconds: dict[str, float] = {}  # what a host's links take on top
        self.base_delay_seconds = 0.0003
        self._ports = 40000
        self._made = 0
        loop.connect = self.connect

    def listen(self, host: str, port: int) -> "SimSocket":
        if (host, port) in self.listeners:
            raise OSError(errno.EADDRINUSE, "the address is taken")
        bound = SimSocket(self, host, port, self.loop.current)
        self.listeners[host, port] = bound
        return bound

    async def connect(self, factory: Callable[[], Protocol], here: str, host: str, port: int) -> "End":
        """Raises ConnectionRefusedError when nobody listens; waits as long as the link is blocked."""
        await asyncio.sleep(self.delay(here, host))
        while (here, host) in self.blocked or (host, here) in self.blocked:
            await asyncio.sleep(0.5)
        bound = self.listeners.get((host, port))
        if bound is None or bound.factory is None or (bound.owner is not None and bound.owner.dead):
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"nobody listens on {host}:{port}")
        self._ports += 1
        mine = self._end(self.loop.current, here, (here, self._ports), (host, port))
        theirs = self._end(bound.owner, host, (host, port), (here, self._ports))
        mine.peer, theirs.peer = theirs, mine
        mine.attach(factory())
        self.loop.for_process(bound.owner, self.delay(here, host), theirs.attach_from, bound)
        return mine

    def _end(self, owner: Process | None, host: str, local: tuple[str, int], remote: tuple[str, int]) -> "End":
        self._made += 1
        end = End(self, self._made, owner, host, local, remote)
        self.ends[self._made] = end
        return end

    def delay(self, here: str, there: str) -> float:
        extra = self.delay_seconds.get(here, 0.0) + self.delay_seconds.get(there, 0.0)
        return self.base_delay_seconds * (0.5 + self.loop.random.random()) + extra * self.loop.random.random()

    # --- faults -----------------------------------------------------------------------------------------------------

    def block(self, ways: Iterable[Way]) -> None:
        for way in ways:
            self.blocked[way] = self.blocked.get(way, 0) + 1

    def unblock(self, ways: Iterable[Way]) -> None:
        """What the links held goes on its way, unless another fault blocks them as well."""
        for way in ways:
            left = self.blocked.pop(way, 0) - 1
            if left > 0:
                self.blocked[way] = left
        for end in list(self.ends.values()):
            end.send_held()

    def lose(self, host: str, which: Callable[[bytes], bool]) -> None:
        """Such a packet of this host is lost, and sent again after `send_again`. What follows it on its connection
        waits, as with TCP; other connections overtake it."""
        self.loses[host] = which

    def send_again(self, host: str) -> None:
        self.loses.pop(host, None)
        for end in list(self.ends.values()):
            if end.host == host:
                end.waits = False
                end.send_held()

    def heal(self) -> None:
        """Every link works again, and what it held goes on its way."""
        for host in list(self.loses):
            self.send_again(host)
        self.blocked.clear()
        self.delay_seconds.clear()
        for end in list(self.ends.values()):
            end.send_held()

    def connections(self) -> list["End"]:
        """One end of each connection that is open on both sides."""
        return [end for end in self.ends.values() if not end.closed and end.number < end.peer.number]

    def cut(self, end: "End") -> None:
        for side in (end, end.peer):
            self.loop.for_process(side.owner, 0.0, side.reset)

    def process_died(self, process: Process, *, silently: bool) -> None:
        """Close its listeners and its connections; peers are told unless the whole host went down."""
        for address, bound in list(self.listeners.items()):
            if bound.owner is process:
                del self.listeners[address]
        for end in [end for end in self.ends.values() if end.owner is process]:
            end.closed = True
            self.ends.pop(end.number, None)
            if not silently:
                end.tell_peer(end.peer.reset)


class SimSocket:
    """A listening address."""

    def __init__(self, network: Network, host: str, port: int, owner: Process | None) -> None:
        self.network = network
        self.address = (host, port)
        self.owner = owner
        self.factory: Callable[[], Protocol] | None = None

    def getsockname(self) -> tuple[str, int]:
        return self.address

    def setsockopt(self, level: int, option: int, value: int) -> None:
        """A simulated connection has no buffer to size."""

    def serve(self, factory: Callable[[], Protocol]) -> "SimSocket":
        self.factory = factory
        return self

    def close(self) -> None:
        if self.network.listeners.get(self.address) is self:
            del self.network.listeners[self.address]

    async def wait_closed(self) -> None:
        """Nothing lingers."""


class End(asyncio.Transport):
    """One end of a connection, as the transport its protocol sees."""

    def __init__(
        self,
        network: Network,
        number: int,
        owner: Process | None,
        host: str,
        local: tuple[str, int],
        remote: tuple[str, int],
    ) -> None:
        super().__init__({"peername": remote, "sockname": local})
        self.network = network
        self.loop = network.loop
        self.number = number
        self.owner = owner
        self.host = host
        self.peer: End
        self.closed = False
        self.waits = False  # for a packet that was lost
        self.unread_bytes = 0  # sent by us, not yet taken by the peer's protocol
        self._protocol: Protocol | None = None
        self._reading = True
        self._inbox: deque[bytes] = deque()
        self._held: list[tuple[Callable[..., None], tuple[object, ...]]] = []
        self._last_arrival = 0.0

    def attach(self, protocol: Protocol) -> None:
        self._protocol = protocol
        protocol.connection_made(self)
        self._pump()

    def attach_from(self, bound: SimSocket) -> None:
        if bound.factory is None or self.closed:
            self.reset()
        else:
            self.attach(bound.factory())

    # --- sending ----------------------------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.closed or (self.owner is not None and self.owner.dead):
            return
        data = bytes(data)
        self.unread_bytes += len(data)
        if (lost := self.network.loses.get(self.host)) is not None and lost(data):
            self.waits = True
        random = self.loop.random
        if len(data) > 1 and random.random() < 0.1:  # a packet ends where it pleases
            cut = random.randrange(1, len(data))
            self.tell_peer(self.peer.arrive, data[:cut])
            data = data[cut:]
        self.tell_peer(self.peer.arrive, data)

    def tell_peer(self, what: Callable[..., None], *args: object) -> None:
        """In order, behind all that was sent before."""
        peer = self.peer
        if self.waits or (self.host, peer.host) in self.network.blocked or self._held:
            self._held.append((what, args))
            return
        if peer.closed:
            if (owner := peer.owner) is not None and owner.dead and not self.network.listeners.get(peer.local):
                return  # nobody is there to say that nobody is there
            self.loop.for_process(self.owner, self.network.delay(self.host, peer.host), self.reset)
            return
        arrival = max(self._last_arrival, self.loop.now + self.network.delay(self.host, peer.host))
        self._last_arrival = arrival
        self.loop.for_process(peer.owner, arrival - self.loop.now, what, *args)

    def send_held(self) -> None:
        if not self._held or self.waits or (self.host, self.peer.host) in self.network.blocked:
            return
        held, self._held = self._held, []
        if self.closed:
            self.network.ends.pop(self.number, None)
        for what, args in held:
            self.tell_peer(what, *args)

    @property
    def local(self) -> tuple[str, int]:
        address: tuple[str, int] = self.get_extra_info("sockname")
        return address

    # --- receiving --------------------------------------------------------------------------------------------------

    def arrive(self, data: bytes) -> None:
        if not self.closed:
            self.network.trace.bytes_arrived(self.number, data)
            self._inbox.append(data)
            self._pump()

    def _pump(self) -> None:
        protocol = self._protocol
        while self._inbox and self._reading and not self.closed and protocol is not None:
            data = self._inbox.popleft()
            if isinstance(protocol, asyncio.BufferedProtocol):
                room = memoryview(protocol.get_buffer(-1))
                size = min(len(room), len(data))
                room[:size] = data[:size]
                if size < len(data):
                    self._inbox.appendleft(data[size:])
                self._taken(size)
                protocol.buffer_updated(size)
            else:
                assert isinstance(protocol, asyncio.Protocol)
                self._taken(len(data))
                protocol.data_received(data)

    def _taken(self, size: int) -> None:
        peer = self.peer
        before = peer.unread_bytes
        peer.unread_bytes -= size
        if before > _WINDOW_BYTES >= peer.unread_bytes and not peer.closed and peer._protocol is not None:
            self.loop.for_process(peer.owner, 0.0, peer._protocol.resume_writing)

    def ended(self) -> None:
        """The peer closed in peace."""
        if not self.closed:
            self._lose(None)

    def reset(self) -> None:
        if not self.closed:
            self._lose(ConnectionResetError(errno.ECONNRESET, "the connection was reset"))

    def _lose(self, error: Exception | None) -> None:
        self.closed = True
        if not self._held:
            self.network.ends.pop(self.number, None)
        self._inbox.clear()
        if self._protocol is not None:
            self.loop.for_process(self.owner, 0.0, self._protocol.connection_lost, error)

    # --- asyncio.Transport ------------------------------------------------------------------------------------------

    def close(self) -> None:
        if not self.closed:
            self.tell_peer(self.peer.ended)
            self._lose(None)

    def abort(self) -> None:
        if not self.closed:
            self.tell_peer(self.peer.reset)
            self._lose(None)

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        if not self._reading:
            self._reading = True
            self.loop.for_process(self.owner, 0.0, self._pump)

    def is_reading(self) -> bool:
        return self._reading

    def get_write_buffer_size(self) -> int:
        return max(0, self.unread_bytes - _WINDOW_BYTES)
