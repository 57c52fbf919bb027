"""The group coordinators of this node: one for each partition of `__consumer_offsets` it leads.

What a coordinator's driver does is in driver.py; here is how requests about one, several or all groups find
their machines. The machine itself is imported by a thread when this node begins to lead a partition of the topic, finds
one with data, or gets its first request about a group (dispatch.py): a node without groups does without its 5 MB, and
no client holds the loop for the 100 ms that the import takes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from barnabas.broker.coordinator.driver import AGAIN_MS, Coordinators, request_info, settled
from barnabas.broker.coordinator.shard import Answer, CoordinatorShard, Token
from barnabas.broker.image_bus import ImageChange
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.broker.partition.partition import HostedPartition
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import OFFSETS_TOPIC
from barnabas.wire.batch import BatchHeader
from barnabas.wire.markers import read_marker
from barnabas.wire.records import iter_records

if TYPE_CHECKING:
    from barnabas.broker.node import Node
    from barnabas.core.groups.budget import MetadataBudget
    from barnabas.core.groups.config import GroupConfig
    from barnabas.core.groups.effects import Effects, Job
    from barnabas.core.groups.shard import GroupShard


class GroupDriver(Coordinators["GroupShard"]):
    topic = OFFSETS_TOPIC
    machine_module = "barnabas.core.groups.shard"

    def __init__(self, node: "Node", config: Callable[[], "GroupConfig"]) -> None:
        super().__init__(node)
        self._config = config
        self._budget: MetadataBudget | None = None
        # Their threads are started by the first job.
        self._threads = node.platform.threads(node.settings.int("group.coordinator.background.threads"), "groups")

    def _make(self, partition: HostedPartition) -> "GroupShard":
        from barnabas.core.groups.budget import MetadataBudget
        from barnabas.core.groups.shard import GroupShard

        if self._budget is None:
            self._budget = MetadataBudget(self._metadata_bytes)
        node = self._node
        return GroupShard(self._config(), node.topics_view, node.platform.random(), self._budget, node.clock.wall_of)

    def _metadata_bytes(self) -> int:
        return sum(hosted.machine.metadata_bytes() for hosted in self._hosted.values())

    def ask(self, group_id: str, request: Any, context: RequestContext) -> "Answer | Token":
        """One request about one group: its answer, or a future of it. Raises KafkaError when it is not ours."""
        return self._ask(self.hosted_for(group_id), request, context)

    def _ask(self, hosted: "CoordinatorShard[GroupShard]", request: Any, context: RequestContext) -> "Answer | Token":
        self.check_writable(hosted, context.api_key)
        token = self.new_token(hosted)
        info = request_info(context)
        self.step(hosted, lambda now_ms: hosted.machine.handle(request, info, now_ms, token), token)
        return settled(token)

    def ask_each(
        self, request: Any, context: RequestContext, *, asked: str, answered: str, also: Answer | None = None
    ) -> "Awaitable[Answer] | Answer":
        """A request about several groups: each coordinator gets its own part; the answers stand in the order asked.

        `also` is said of every group that was found.
        """
        from barnabas.core.groups.refusals import refusal

        order: list[str] = []
        parts: dict[int, list[Any]] = {}
        for item in getattr(request, asked):
            group_id = item if isinstance(item, str) else item.group_id
            order.append(group_id)
            parts.setdefault(self.index_of(group_id) if self.partition_count else -1, []).append(item)
        answers: list[Answer | Awaitable[Answer]] = []
        for index, items in parts.items():
            part = copy(request)
            setattr(part, asked, items)
            try:
                if index < 0:
                    raise KafkaError(ErrorCode.NOT_COORDINATOR)
                answer = self._ask(self.at(index), part, context)
                answers.append(answer if isinstance(answer, dict) else _answer_or_refusal(answer, part, context))
            except KafkaError as error:
                answers.append(refusal(context.api_key, part, context.api_version, error.code, error.message))
        done = [answer for answer in answers if isinstance(answer, dict)]
        if len(done) < len(answers):
            return _joined_later(answers, answered, order, also or {})
        return _joined(done, answered, order, also or {})

    async def list_groups(self, states: Sequence[str], types: Sequence[str]) -> list[dict[str, Any]]:
        """The groups of every coordinator on this node, with others served in between: there may be many thousands."""
        found: list[dict[str, Any]] = []
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

    def _replay_batch(self, machine: "GroupShard", header: BatchHeader, batch: memoryview) -> None:
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

    def _before_ready(self, machine: "GroupShard") -> Iterable[None]:
        return machine.loading(self._node.clock.steady_ms())

    # --- what a thread computes -------------------------------------------------------------------------------------

    def drive(self, hosted: "CoordinatorShard[GroupShard]", effects: "Effects") -> None:  # type: ignore[override]
        super().drive(hosted, effects)
        for job in effects.jobs:
            future = asyncio.get_running_loop().run_in_executor(self._threads, job.compute)
            future.add_done_callback(partial(self._computed, hosted, job))

    def _computed(self, hosted: "CoordinatorShard[GroupShard]", job: "Job", done: "asyncio.Future[Any]") -> None:
        failed = not done.cancelled() and done.exception() is not None
        if done.cancelled() or self._hosted.get(hosted.partition.id.partition) is not hosted:
            return  # the node stops, or another coordinator speaks for the group now and has it computed again
        if hosted.partition.under_min_isr and not failed:  # it could not be written down
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


async def _answer_or_refusal(token: Token, part: Any, context: RequestContext) -> Answer:
    """A coordinator that fails meanwhile refuses its own part of the request, not the others'."""
    from barnabas.core.groups.refusals import refusal

    try:
        return await token
    except KafkaError as error:
        return refusal(context.api_key, part, context.api_version, error.code, error.message)


async def _joined_later(
    answers: "list[Answer | Awaitable[Answer]]", answered: str, order: list[str], also: Answer
) -> Answer:
    done = [answer if isinstance(answer, dict) else await answer for answer in answers]
    return _joined(done, answered, order, also)


def _joined(answers: list[Answer], answered: str, order: list[str], also: Answer) -> Answer:
    by_group = {item["group_id"]: item for answer in answers for item in answer[answered]}
    return {answered: [by_group[group_id] | ({} if by_group[group_id]["error_code"] else also) for group_id in order]}
