"""The controller of this node: active on the one node that leads the quorum.

    await controller.submit(Controller.create_topics, ...)     on the active controller; NOT_CONTROLLER elsewhere
    await controller.ask(api_key, version, body)               from any node (controller/link.py)

Its decisions become records in the metadata log, and answers once the quorum has committed them. Several changes may be
on their way at once: each is decided on the state its predecessors lead to, one flush serves all that wait, and the
image the nodes serve from moves on only with what is committed.

A new leader of the quorum is the active controller as soon as its own first record is committed: then it has applied
everything that any controller before it may have answered.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from barnabas.broker.controller.link import ControllerLink
from barnabas.broker.controller.sessions import BrokerSessions
from barnabas.broker.metrics.event_log import ChangeLog
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import in_turns
from barnabas.broker.network.session import OWN
from barnabas.broker.platform import Platform
from barnabas.broker.quorum.driver import QuorumDriver
from barnabas.broker.quorum.metadata_log import frame_record
from barnabas.core.cluster.controller import Controller
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.records import Record
from barnabas.core.raft.effects import RoleChange
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings import Settings
from barnabas.wire.codec import Decoded

if TYPE_CHECKING:
    from barnabas.core.access.quotas.meters import Charge, Mutations

log = logging.getLogger(__name__)

# About 2 MB, well within what one fetch may carry; a topic with the most partitions of a request is one batch.
RECORDS_PER_BATCH_MAX = 11_000
_LONG_RECORDS = 1_000  # a decision of more is written in several steps; deciding, encoding, writing: 3 us each a record
_LOG_EVERY_SECONDS = 5.0

P = ParamSpec("P")
R = TypeVar("R")
Decision = Callable[Concatenate[Controller, P], tuple[list[Record], R]]


class ControllerDriver:
    """`own_broker`, `probe`: as BrokerSessions has them."""

    def __init__(
        self,
        quorum: QuorumDriver,
        link: ControllerLink,
        settings: Settings,
        platform: Platform,
        steady_ms: Callable[[], int],
        own_broker: int | None,
        probe: Callable[[int], Awaitable[None]],
    ) -> None:
        self._quorum = quorum
        self.link = link
        self._settings = settings
        self._platform = platform
        self.is_active = False
        self.epoch = -1  # of the quorum's leader we know of
        self._active_from: int | None = None  # we lead: the offset that must be committed first
        self.leader_is_known = asyncio.Event()  # and, where it is this node, it may decide
        self.machine = self._new_machine(MetadataImage())
        self.changes = ChangeLog()
        self._may_decide = asyncio.Event()  # not while a long decision is being encoded: the next one builds on it
        self._may_decide.set()
        self._steady_ms = steady_ms
        self._mutations: Mutations | None = None  # until a client has a quota
        self.sessions = BrokerSessions(self, own_broker, probe, steady_ms)

    def _new_machine(self, image: MetadataImage) -> Controller:
        random, new_id = self._platform.random(), self._platform.new_uuid
        return Controller(image, self._settings, random=random, new_id=new_id, controllers=self._voter_ids)

    def _voter_ids(self) -> list[int]:
        return [voter.id for voter in self._quorum.raft.voters.voters]

    # --- leadership -------------------------------------------------------------------------------------------------

    def role_changed(self, role: RoleChange) -> None:
        if self.is_active and (role.role != "leader" or role.epoch != self.epoch):
            self.is_active = False
            self.sessions.stop()
            log.info("this node is no longer the active controller")
        self.epoch = role.epoch
        self._active_from = role.epoch_start_offset if role.role == "leader" else None
        if role.leader_id is None:
            self.leader_is_known.clear()
        elif self._active_from is None:
            self.leader_is_known.set()
        self.link.leader_changed()
        self.caught_up()

    def caught_up(self) -> None:
        """The image has moved on: perhaps so far that we may decide."""
        if self.is_active or self._active_from is None or self._quorum.image.offset < self._active_from:
            return
        self.machine = self._new_machine(self._quorum.image)
        self.is_active = True
        log.info("this node is the active controller, epoch %d", self.epoch)
        self.sessions.start()
        self.leader_is_known.set()
        self.link.leader_changed()

    @property
    def is_alone(self) -> bool:
        """Active, and the only member of the quorum."""
        return self.is_active and self._quorum.is_alone

    async def wait_for_leader(self) -> None:
        """However long it takes: a majority of the controllers must be up."""
        while not self.leader_is_known.is_set():
            try:
                async with asyncio.timeout(_LOG_EVERY_SECONDS):
                    await self.leader_is_known.wait()
            except TimeoutError:
                log.warning("this node waits for its quorum: %s", self._quorum.why_no_leader())

    # --- decisions --------------------------------------------------------------------------------------------------

    async def submit(self, decide: Decision[P, R], *args: P.args, **named: P.kwargs) -> R:
        """One decision of the controller's machine, by its method; returns when its records are committed."""
        while not self._may_decide.is_set():
            await self._may_decide.wait()
        self.check_active()
        machine, quorum = self.machine, self._quorum
        if machine.image.offset < quorum.next_offset - 1:
            machine.image = machine.image.apply((), offset=quorum.next_offset - 1)  # records of the quorum's own
        before = machine.image
        records, answer = decide(machine, *args, **named)
        if records:
            if len(records) <= _LONG_RECORDS:
                await self._write(machine, records)
            else:
                self._may_decide.clear()
                # Whoever asked may go: what was decided is written as a whole.
                written = asyncio.shield(asyncio.ensure_future(self._write_long(machine, records)))
                await asyncio.gather(*await written)
            self.changes.committed(records, before)
        return answer

    async def _write_long(self, machine: Controller, records: list[Record]) -> "list[asyncio.Future[int]]":
        """A decision about a whole node may be longer than a batch; any beginning of it is a valid state of the
        cluster. Others are served between the steps, and nothing else is decided meanwhile."""
        parts = [records[at : at + RECORDS_PER_BATCH_MAX] for at in range(0, len(records), RECORDS_PER_BATCH_MAX)]
        written: list[asyncio.Future[int]] = []
        try:
            for part in parts:
                await asyncio.sleep(0)
                encoded = await in_turns(enumerate(part), frame_record)
                await asyncio.sleep(0)
                base_offset, image = self._applied(machine, part)
                await asyncio.sleep(0)
                if self.machine is not machine or not self.is_active:
                    raise KafkaError(ErrorCode.NOT_CONTROLLER, "another node is the active controller")
                if base_offset != self._quorum.next_offset:  # the quorum has written of itself meanwhile
                    _, image = self._applied(machine, part)
                machine.image = image
                written.append(self._quorum.propose(encoded, image, self.epoch))
        finally:
            self._may_decide.set()
        return written

    def _write(self, machine: Controller, records: list[Record]) -> "asyncio.Future[int]":
        _, machine.image = self._applied(machine, records)
        return self._quorum.propose(records, machine.image, self.epoch)

    def _applied(self, machine: Controller, records: list[Record]) -> tuple[int, MetadataImage]:
        """Where these records will begin in the log, and the image behind them."""
        base_offset = self._quorum.next_offset
        return base_offset, machine.image.apply(records, offset=base_offset + len(records) - 1, epoch=self.epoch)

    def check_active(self) -> None:
        if not self.is_active:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "another node is the active controller")

    def charge(self, context: RequestContext, strict_since: int) -> "Charge | None":
        """For the partitions that a request creates or deletes; None: its client has no quota (KIP-599)."""
        if not self._quorum.image.quotas.limits_clients or context.session is OWN:
            return None
        if self._mutations is None:
            from barnabas.core.access.quotas.meters import mutations_of  # only a node that needs it imports it

            self._mutations = mutations_of(self._settings)
        user, strict = context.session.principal.name, context.api_version >= strict_since
        quotas, now_ms = self._quorum.image.quotas, self._steady_ms()
        return self._mutations.charge(quotas, user, context.client_id or "", strict=strict, now_ms=now_ms)

    async def ask(
        self, api_key: int, version: int, body: Mapping[str, object], timeout_ms: int | None = None
    ) -> Decoded:
        """A request to the active controller, wherever it is; the answer decoded."""
        return await self.link.ask(api_key, version, body, timeout_ms)

    def settings_changed(self, settings: Settings) -> None:
        self._settings = self.machine.settings = settings

    def close(self) -> None:
        self.is_active = False
        self.changes.write()
        self.sessions.stop()
        self.link.close()
