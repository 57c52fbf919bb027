"""A client of the simulated cluster: it finds leaders and coordinators as real clients do, and remembers them.

Leaders come from Metadata, asked of any node; of two answers the one with the higher leader epoch counts, as a node may
not have heard of an election yet. Coordinators come from FindCoordinator. Both are forgotten by whoever finds that they
are wrong, and asked for again before the next request. Where there is one node nothing has to be found.
"""

from typing import TYPE_CHECKING, Any

from barnabas.model.errors import ErrorCode
from barnabas.sim.history import Partition
from barnabas.sim.link import Link, NoAnswer
from barnabas.sim.process import Process

if TYPE_CHECKING:
    from barnabas.sim.world import World

__all__ = ["Client", "NoAnswer"]

REQUEST_SECONDS = 8.0
_METADATA, _FIND_COORDINATOR = 3, 10
_ELSEWHERE = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    }
)


class Client:
    def __init__(self, world: "World", name: str, process: Process) -> None:
        self.world = world
        self.name = name
        self.process = process
        self._links: dict[int, Link] = {}
        self._alone = len(world.computers) == 1
        self._first = 1 if self._alone else 1 + (sum(name.encode()) % len(world.computers))  # whom it asks for the rest
        self.leaders: dict[Partition, tuple[int, int]] = {}  # (leader epoch, node)
        self._newest: dict[Partition, int] = {}  # the highest leader epoch ever told
        self._coordinators: dict[tuple[str, bool], int] = {}

    async def ask(
        self,
        api_key: int,
        version: int,
        body: dict[str, Any],
        *,
        to: int | None = None,
        seconds: float = REQUEST_SECONDS,
    ) -> Any:
        """`to` a node, or to any: then another one is tried after one that did not answer."""
        number = self._first if to is None else to
        link = self._links.get(number)
        if link is None:
            host = self.world.computers[number - 1].host
            link = self._links[number] = Link(self.world, self.name, self.process, host)
        try:
            return await link.ask(api_key, version, body, seconds)
        except NoAnswer:
            if to is None:
                self.try_another()
            raise

    def try_another(self) -> None:
        self._first = self._first % len(self.world.computers) + 1

    # --- leaders ----------------------------------------------------------------------------------------------------

    async def leader(self, partition: Partition) -> tuple[int, int]:
        """(leader epoch, node); the epoch is -1 where nobody was asked. NoAnswer when nobody leads it."""
        if self._alone:
            return -1, 1
        if partition not in self.leaders:
            await self._refresh(partition)
        return self.leaders[partition]

    async def _refresh(self, partition: Partition) -> None:
        topic, index = partition
        body = {"topics": [{"topic_id": bytes(16), "name": topic}], "allow_auto_topic_creation": False}
        answer = await self.ask(_METADATA, 12, body)
        for found in answer.topics[0].partitions:
            key = (topic, found.partition_index)
            if found.leader_epoch >= self._newest.get(key, 0):
                self._newest[key] = found.leader_epoch
                self.world.leaders.told(self.name, key, answer.topics[0].topic_id, found.leader_epoch, found.leader_id)
                if 0 < found.leader_id <= len(self.world.computers) and not found.error_code:
                    self.leaders[key] = (found.leader_epoch, found.leader_id)
        if partition not in self.leaders:
            self.try_another()
            raise NoAnswer(f"nobody leads {topic}-{index}")

    async def ask_leader(self, partition: Partition, api_key: int, version: int, body: dict[str, Any]) -> Any:
        _, node = await self.leader(partition)
        try:
            return await self.ask(api_key, version, body, to=node)
        except NoAnswer:
            self.leaders.pop(partition, None)
            raise

    def heard(self, partition: Partition, code: int) -> None:
        """What an answer said about the partition: an error may mean that another node leads it now."""
        if code in _ELSEWHERE:
            self.leaders.pop(partition, None)
            if not self._alone:
                self.try_another()

    # --- coordinators -----------------------------------------------------------------------------------------------

    async def find_coordinator(self, key: str, *, transaction: bool) -> int:
        """The error code; once it is NONE the coordinator is known."""
        body = {"key_type": int(transaction), "coordinator_keys": [key]}
        found = (await self.ask(_FIND_COORDINATOR, 4, body)).coordinators[0]
        if found.error_code == ErrorCode.NONE:
            self._coordinators[key, transaction] = found.node_id
        elif not self._alone:
            self.try_another()
        code: int = found.error_code
        return code

    async def ask_coordinator(
        self, key: str, api_key: int, version: int, body: dict[str, Any], *, transaction: bool = False
    ) -> Any:
        if self._alone:
            return await self.ask(api_key, version, body)
        known = self._coordinators.get((key, transaction))
        if known is None:
            if code := await self.find_coordinator(key, transaction=transaction):
                raise NoAnswer(f"no coordinator of {key}: {ErrorCode(code).name}")
            known = self._coordinators[key, transaction]
        try:
            return await self.ask(api_key, version, body, to=known)
        except NoAnswer:
            self._coordinators.pop((key, transaction), None)
            raise

    def heard_coordinator(self, key: str, code: int, *, transaction: bool = False) -> None:
        if code in _ELSEWHERE:
            self._coordinators.pop((key, transaction), None)

    def close(self) -> None:
        for link in self._links.values():
            link.close()
