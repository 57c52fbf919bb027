"""The group coordinators of this node: one for each partition of `__consumer_offsets` it leads.

What a coordinator's driver does is in driver.py; here is how requests about one, several or all groups find
their machines. The machine itself is imported by a thread when this node begins to lead a partition of the topic, finds
one with data, or gets its first request about a group (dispatch.py): a node without groups does without its 5 MB, and
no client holds the loop for the 100 ms that the import takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.driver import AGAIN_MS, Coordinators
from barnabas.broker.coordinator.environment import CoordinatorEnvironment
from barnabas.broker.coordinator.shard import CoordinatorShard
from barnabas.broker.coordinator.topics_view import ImageTopics
from barnabas.broker.image_bus import ImageChange
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.broker.partition.partition import HostedPartition
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import OFFSETS_TOPIC
from barnabas.wire.batch import BatchHeader
from barnabas.wire.markers import read_marker
from barnabas.wire.records import iter_records

if TYPE_CHECKING:
    from barnabas.core.groups.budget import MetadataBudget
    from barnabas.core.groups.config import GroupConfig
    from barnabas.core.groups.effects import Effects, Job
    from barnabas.core.groups.shard import GroupShard
    from barnabas.wire.messages import ListedGroupBody


class GroupDriver(Coordinators["GroupShard", "Effects"]):
    topic = OFFSETS_TOPIC
    machine_module = "barnabas.core.groups.shard"

    """`threads` compute assignments; an executor starts them with its first job."""

    def __init__(
        self, environment: CoordinatorEnvironment, new_random: Callable[[], Random], threads: Executor
    ) -> None:
        super().__init__(environment)
        self._new_random = new_random
        self._threads = threads
        self._topics = ImageTopics(self._cluster)
        self._budget: MetadataBudget | None = None

    def _make(self, partition: HostedPartition) -> GroupShard:
        from barnabas.core.groups.budget import MetadataBudget
        from barnabas.core.groups.shard import GroupShard

        if self._budget is None:
            self._budget = MetadataBudget(self._metadata_bytes)
        return GroupShard(self._config(), self._topics, self._new_random(), self._budget, self._clock.wall_of)

    def _config(self) -> GroupConfig:
        from barnabas.broker.coordinator.settings import group_config

        return group_config(self._cluster.settings, self._cluster.image)

    def _metadata_bytes(self) -> int:
        return sum(hosted.machine.metadata_bytes() for hosted in self._hosted.values())

    async def list_groups(self, states: Sequence[str], types: Sequence[str]) -> list[ListedGroupBody]:
        """The groups of every coordinator on this node, with others served in between: there may be many thousands."""
        found: list[ListedGroupBody] = []
        budget = LoopBudget()
        for hosted in self.every():
            try:
                for group in hosted.machine.list_groups(states, types):
                    found.append(group)
                    await budget.pause()
            except Exception as error:  # as in `step`: this shard is dropped, and the client asks again
                self._failed(hosted, error)
                raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "a coordinator failed") from error
            await budget.pause()
        return found

    def transaction_ended(self, index: int, producer_id: int, commit: bool, offset: int) -> None:
        """A marker was written to a partition of ours: the offsets of that transaction count now, or never.

        `offset` is where the marker ends: what it says is told to nobody before it is committed.
        """
        hosted = self._hosted.get(index)
        if hosted is not None:
            hosted.appended_to = max(hosted.appended_to, offset)
            self.step(hosted, lambda now_ms: hosted.machine.transaction_ended(producer_id, commit, now_ms))

    def _replay_batch(self, machine: GroupShard, header: BatchHeader, batch: memoryview) -> None:
        if not header.is_transactional:
            super()._replay_batch(machine, header, batch)
        elif header.is_control:
            found = read_marker(batch)
            if found is not None:
                machine.replay_marker(header.producer_id, found[0])
        else:
            for record in iter_records(batch):
                if record.key is not None:
                    machine.replay_transactional(header.producer_id, record.key, record.value)

    def _before_ready(self, machine: GroupShard) -> Iterable[None]:
        return machine.loading(self._clock.steady_ms())

    # --- what a thread computes -------------------------------------------------------------------------------------

    def drive(self, hosted: CoordinatorShard[GroupShard], effects: Effects) -> None:
        super().drive(hosted, effects)
        for job in effects.jobs:
            future = asyncio.get_running_loop().run_in_executor(self._threads, job.compute)
            future.add_done_callback(partial(self._computed, hosted, job))

    def _computed(self, hosted: CoordinatorShard[GroupShard], job: Job, done: asyncio.Future[object]) -> None:
        failed = not done.cancelled() and done.exception() is not None
        if done.cancelled() or self._hosted.get(hosted.partition.id.partition) is not hosted:
            return  # the node stops, or another coordinator speaks for the group now and has it computed again
        if hosted.partition.leadership.under_min_isr and not failed:  # it could not be written down
            asyncio.get_running_loop().call_later(AGAIN_MS / 1000, self._computed, hosted, job, done)
            return
        self.step(hosted, lambda now_ms: hosted.machine.finish(job, done.result(), now_ms))

    def close(self) -> None:
        super().close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def image_changed(self, change: ImageChange) -> None:
        if change.configs_changed:
            for hosted in self._hosted.values():
                hosted.machine.update_config(self._config())
        if change.topics_changed:
            for hosted in list(self._hosted.values()):
                self.step(hosted, hosted.machine.on_metadata_change)
