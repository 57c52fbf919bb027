"""A broker's life in its cluster: it registers, is unfenced, sends heartbeats, and hands over its leaderships before it
stops (KIP-631).

One connection to the active controller carries registration and heartbeats and nothing else: that it closes is how the
controller learns, at once, that this process is gone. When the controller moves, or the connection breaks, the broker
beats at once where the controller is now.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.controller.contact import CUT_OFF_PAUSE_SECONDS, ControllerContact
from barnabas.broker.controller.driver import ControllerDriver
from barnabas.broker.controller.last_stop import LastStop
from barnabas.broker.controller.leader_connection import LeaderConnection
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.session import OWN
from barnabas.broker.roles import ConfiguredView
from barnabas.core.cluster.controller import Controller
from barnabas.core.cluster.features import SUPPORTED
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.items import Registration
from barnabas.core.cluster.records import Endpoint
from barnabas.link.errors import LinkDown
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.apis import BROKER_HEARTBEAT, BROKER_REGISTRATION
from barnabas.wire.codec import Decoded, request_of, response_of

if TYPE_CHECKING:
    from barnabas.broker.controller.doubted_leaders import DoubtedLeaders
    from barnabas.wire.messages import BrokerHeartbeatResponse

log = logging.getLogger(__name__)

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")  # by their number in the protocol
_VERSIONS = {BROKER_REGISTRATION: 4, BROKER_HEARTBEAT: 1}
_LOG_EVERY_SECONDS = 5.0
_PAUSE_SECONDS = 0.02  # between two attempts, however quickly one fails
_SHUTDOWN_BEAT_SECONDS = 0.05
SHUTDOWN_SECONDS = 10.0  # how long leaderships may take to be handed over
_NO_CONTROLLER_SECONDS = 1.5  # the others are stopping too: nobody is left to hand over to


class BrokerFacts(NamedTuple):
    """What a broker registers of itself."""

    broker_id: int
    cluster_id: str
    incarnation_id: bytes  # of this process
    endpoints: tuple[Endpoint, ...]  # as others reach them
    rack: str | None
    directory_id: bytes


_LAST_LEADER_GONE = "a majority of the voters must be up, and the last known leader of the quorum does not answer"


class LifecycleHooks(NamedTuple):
    answer_here: Callable[
        [Decoded, RequestContext], Awaitable[Mapping[str, object]]
    ]  # a request to this node's own controller
    is_better_fenced: Callable[[], bool]  # this broker cannot write while another one can
    silent_brokers: Callable[[int], frozenset[int]]  # replicas that were not heard for so many milliseconds
    failed: Callable[[BaseException], None]


class Lifecycle:
    def __init__(
        self,
        broker: BrokerFacts,
        cluster: ConfiguredView,
        controller: ControllerDriver,
        leader: LeaderConnection,
        hooks: LifecycleHooks,
        steady_ms: Callable[[], int],
    ) -> None:
        self._broker = broker
        self._cluster = cluster
        self._controller = controller
        self._leader = leader
        self._hooks = hooks
        self._steady_ms = steady_ms
        self._broker_epoch = -1
        leader.on_lost(self._beat_now)
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._wants_fence = True  # until the logs are recovered
        self._wants_shutdown = False
        self._may_stop = asyncio.Event()
        self.contact = ControllerContact(self._session_ms)
        self._doubted_leaders: DoubtedLeaders | None = None
        self.unfenced = asyncio.Event()

    def _session_ms(self) -> int:
        return self._cluster.settings.int("broker.session.timeout.ms")

    @property
    def told_image(self) -> MetadataImage:
        """The image as clients are told of it."""
        if not self.contact.is_lost():
            self._doubted_leaders = None
            return self._cluster.image
        if self._doubted_leaders is None:
            from barnabas.broker.controller.doubted_leaders import DoubtedLeaders  # only where it is needed

            self._doubted_leaders = DoubtedLeaders(lambda: self._hooks.silent_brokers(self._session_ms()))
        return self._doubted_leaders.told(self._cluster.image)

    @property
    def is_cut_off(self) -> bool:
        """Are neither a controller nor all in-sync replicas heard, so that clients are better off with others?"""
        return self.told_image is not self._cluster.image

    def sends_away(self, connected_seconds: float) -> bool:
        return self.is_cut_off and connected_seconds > CUT_OFF_PAUSE_SECONDS

    # --- start ------------------------------------------------------------------------------------------------------

    async def register(self, last: LastStop) -> int:
        """Gives the broker's epoch, however long there is no controller to ask."""
        broker = self._broker
        if self._controller.is_alone and self._cluster.image.brokers.keys() <= {broker.broker_id}:
            return await self._register_alone(last)
        body = {
            "broker_id": broker.broker_id,
            "cluster_id": broker.cluster_id,
            "incarnation_id": broker.incarnation_id,
            "listeners": [
                {"name": e.name, "host": e.host, "port": e.port, "security_protocol": _protocol(e.protocol)}
                for e in broker.endpoints
            ],
            "features": [
                {"name": name, "min_supported_version": low, "max_supported_version": high}
                for name, (low, high) in SUPPORTED.items()
            ],
            "rack": broker.rack,
            "is_migrating_zk_broker": False,
            "log_dirs": [broker.directory_id],
            "previous_broker_epoch": last.broker_epoch,
        }
        answer = await self._until_answered(lambda: self._send(BROKER_REGISTRATION, body), "register")
        self._broker_epoch = answer.broker_epoch
        return self._broker_epoch

    async def _register_alone(self, last: LastStop) -> int:
        """The only broker of the cluster, and its controller is here: it need not be fenced until it is ready."""
        broker = self._broker
        registration = Registration(
            broker_id=broker.broker_id,
            incarnation_id=broker.incarnation_id,
            endpoints=broker.endpoints,
            rack=broker.rack,
            directories=(broker.directory_id,),
            features=SUPPORTED,
            fenced=False,
            clean=last.in_order,
        )
        submitted = self._controller.submit(Controller.register_broker, registration, self._steady_ms())
        self._broker_epoch = await submitted
        self.unfenced.set()
        return self._broker_epoch

    async def _until_answered(self, ask: Callable[[], Awaitable[Decoded]], what: str) -> Decoded:
        loop = asyncio.get_running_loop()
        next_line = loop.time() + _LOG_EVERY_SECONDS
        while True:
            moved = self._leader.moved
            problem = "no controller leads the quorum yet"
            try:
                answer = await ask()
                code = ErrorCode(answer.error_code)
                if code is ErrorCode.NONE:
                    return answer
                if code is not ErrorCode.NOT_CONTROLLER:
                    problem = f"the controller says {code.name}"
                if code in (ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.INVALID_REGISTRATION):
                    raise KafkaError(code, f"node {self._broker.broker_id} cannot {what}: {code.name}")
            except LinkDown as error:
                problem = f"{_LAST_LEADER_GONE} ({error})"
            if loop.time() >= next_line:
                next_line = loop.time() + _LOG_EVERY_SECONDS
                log.warning("node %d waits to %s: %s", self._broker.broker_id, what, problem)
            await asyncio.sleep(_PAUSE_SECONDS)
            await _first(moved, 0.05)

    def start_beating(self) -> None:
        """From now on the logs are in order: ask to be unfenced, and go on saying that we are here."""
        self._wants_fence = False
        self._task = asyncio.ensure_future(self._beats())
        self._task.add_done_callback(self._beats_ended)

    async def wait_unfenced(self) -> None:
        """Until the controller has said so, and this node's own image too."""
        loop = asyncio.get_running_loop()
        next_line = loop.time() + _LOG_EVERY_SECONDS
        while not self.unfenced.is_set() or not self._cluster.image.is_alive(self._broker.broker_id):
            await _first(self.unfenced, 0.05)
            if self.unfenced.is_set():
                await asyncio.sleep(0.002)
            if loop.time() >= next_line:
                next_line = loop.time() + _LOG_EVERY_SECONDS
                log.warning("node %d is registered and waits to be unfenced", self._broker.broker_id)

    # --- heartbeats -------------------------------------------------------------------------------------------------

    def leader_changed(self) -> None:
        self._leader.leader_changed()
        self._beat_now()

    def _beat_now(self) -> None:
        self._wake.set()

    async def _beats(self) -> None:
        while True:
            self._wake.clear()
            seconds = self._cluster.settings.int("broker.heartbeat.interval.ms") / 1000
            try:
                answer: BrokerHeartbeatResponse = await self._send(BROKER_HEARTBEAT, self._beat())
                if answer.error_code != ErrorCode.NOT_CONTROLLER:
                    self.contact.answered()
                seconds = self._next_beat(answer, seconds)
            except LinkDown:
                seconds = 0.05
                await asyncio.sleep(_PAUSE_SECONDS)
            await _first(self._wake, seconds)

    def _beat(self) -> dict[str, object]:
        return {
            "broker_id": self._broker.broker_id,
            "broker_epoch": self._broker_epoch,
            "current_metadata_offset": self._cluster.image.offset,
            "want_fence": self._is_better_fenced,
            "want_shut_down": self._wants_shutdown,
        }

    @property
    def _is_better_fenced(self) -> bool:
        """Its logs are not in order yet, or it cannot write while somebody else can."""
        return self._wants_fence or self._hooks.is_better_fenced()

    def _next_beat(self, answer: "BrokerHeartbeatResponse", seconds: float) -> float:
        """Follow the answer of a heartbeat; gives the seconds until the next one."""
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.NONE:
            if not answer.is_fenced:
                self.unfenced.set()
            elif not self._is_better_fenced and not self._wants_shutdown:
                return 0.02  # not caught up yet: the metadata log is on its way
            if self._wants_shutdown:
                if answer.should_shut_down:
                    self._may_stop.set()
                return _SHUTDOWN_BEAT_SECONDS
            return seconds
        if code is ErrorCode.STALE_BROKER_EPOCH and not self._wants_shutdown:
            self._hooks.failed(KafkaError(code, f"another node has registered as {self._broker.broker_id}"))
        elif code is ErrorCode.BROKER_ID_NOT_REGISTERED:
            if not self._wants_shutdown and not self._may_stop.is_set():
                log.warning("node %d is no longer registered in the cluster: it may be stopped", self._broker.broker_id)
            self._may_stop.set()
        return 0.05 if code is ErrorCode.NOT_CONTROLLER else seconds

    def _beats_ended(self, done: "asyncio.Task[None]") -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            self._hooks.failed(error)

    async def _send(self, api_key: int, body: Mapping[str, object]) -> Decoded:
        """To the active controller; on its own node without a connection."""
        version = _VERSIONS[api_key]
        if self._controller.is_active:
            context = RequestContext(api_key, version, 0, None, OWN)
            return response_of(api_key, await self._hooks.answer_here(request_of(api_key, body), context))
        connection = await self._leader.get()
        timeout_ms = self._session_ms() // 2
        return await connection.ask(api_key, version, body, max(timeout_ms, 500))

    # --- stop -------------------------------------------------------------------------------------------------------

    async def hand_over(self) -> None:
        """Controlled shutdown: wait, for a bounded time, until others lead what this broker led."""
        if self._task is None or self._task.done():
            return
        self._wants_shutdown = True
        self._beat_now()
        loop = asyncio.get_running_loop()
        until = loop.time() + SHUTDOWN_SECONDS
        self.contact.answered()
        while not self._may_stop.is_set():
            await _first(self._may_stop, _SHUTDOWN_BEAT_SECONDS)
            if not self._cluster.image.has_successor(self._broker.broker_id):
                return  # the others are stopping too
            if loop.time() >= until or self.contact.silent_seconds >= _NO_CONTROLLER_SECONDS:
                log.warning("node %d stops without having handed over all it leads", self._broker.broker_id)
                return

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._leader.close()


def _protocol(name: str) -> int:
    return SECURITY_PROTOCOLS.index(name) if name in SECURITY_PROTOCOLS else 0


async def _first(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event or the time, whichever comes first."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
