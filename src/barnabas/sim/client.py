"""A client of the simulated cluster: it finds leaders and coordinators as real clients do, and remembers them.

Connections and what is known of the cluster are link/'s, on the simulated network. Leaders come from Metadata, asked of
any node, coordinators from FindCoordinator. Both are forgotten by whoever finds that they are wrong, and asked for
again before the next request. Where there is one node nothing has to be found.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.link.codes import Remedy, remedy
from barnabas.link.view import GROUP_KEY, TRANSACTION_KEY, ClientMetadata, Leader
from barnabas.model.errors import ErrorCode
from barnabas.sim.history import Partition
from barnabas.sim.node_connection import NoAnswer, NodeConnection
from barnabas.sim.process import Process
from barnabas.wire.apis import FIND_COORDINATOR, METADATA
from barnabas.wire.codec import Decoded

if TYPE_CHECKING:
    from barnabas.sim.world import World
    from barnabas.wire.messages import FindCoordinatorResponse, MetadataResponse

__all__ = ["Client", "NoAnswer"]

REQUEST_SECONDS = 8.0


def _moved(code: int) -> bool:
    """Another node may lead or coordinate by now. A node that does not know the leader epoch yet may never hear of it:
    it is cut off from the quorum."""
    return remedy(code) in (Remedy.LEADER, Remedy.COORDINATOR) or code == ErrorCode.UNKNOWN_LEADER_EPOCH


class Client:
    def __init__(self, world: "World", name: str, process: Process) -> None:
        self.world = world
        self.name = name
        self.process = process
        self._connections: dict[int, NodeConnection] = {}
        self._alone = len(world.computers) == 1
        self._first = 1 if self._alone else 1 + (sum(name.encode()) % len(world.computers))  # whom it asks for the rest
        self.view = ClientMetadata()

    async def ask(
        self,
        api_key: int,
        version: int,
        body: Mapping[str, object],
        *,
        to: int | None = None,
        seconds: float = REQUEST_SECONDS,
    ) -> Decoded:
        """`to` a node, or to any: then another one is tried after one that did not answer."""
        number = self._first if to is None else to
        connection = self._connections.get(number)
        if connection is None:
            host = self.world.computers[number - 1].host
            connection = self._connections[number] = NodeConnection(self.world, self.name, self.process, host)
        try:
            return await connection.ask(api_key, version, body, seconds)
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
        found = self.view.leader(*partition) or await self._look_up(partition)
        return found.epoch, found.node_id

    async def _look_up(self, partition: Partition) -> Leader:
        topic, index = partition
        body = {"topics": [{"topic_id": bytes(16), "name": topic}], "allow_auto_topic_creation": False}
        answer: MetadataResponse = await self.ask(METADATA, 12, body)
        for found in answer.topics[0].partitions:
            key = (topic, found.partition_index)
            self.world.leaders.told(self.name, key, answer.topics[0].topic_id, found.leader_epoch, found.leader_id)
        self.view.learn_metadata(answer)
        leader = self.view.leader(topic, index)
        if leader is None:
            self.try_another()
            raise NoAnswer(f"nobody leads {topic}-{index}")
        return leader

    async def ask_leader(self, partition: Partition, api_key: int, version: int, body: Mapping[str, object]) -> Decoded:
        _, node = await self.leader(partition)
        try:
            return await self.ask(api_key, version, body, to=node)
        except NoAnswer:
            self.view.forget_leader(*partition)
            raise

    def heard(self, partition: Partition, code: int) -> None:
        """What an answer said about the partition: an error may mean that another node leads it now."""
        if _moved(code):
            self.view.forget_leader(*partition)
            if not self._alone:
                self.try_another()

    # --- coordinators -----------------------------------------------------------------------------------------------

    async def find_coordinator(self, key: str, *, transaction: bool) -> int:
        """The error code; once it is NONE the coordinator is known."""
        kind = TRANSACTION_KEY if transaction else GROUP_KEY
        body = {"key_type": kind, "coordinator_keys": [key]}
        answer: FindCoordinatorResponse = await self.ask(FIND_COORDINATOR, 4, body)
        code = self.view.learn_coordinators(kind, [key], answer).get(key, ErrorCode.NONE)
        if code and not self._alone:
            self.try_another()
        return code

    async def ask_coordinator(
        self, key: str, api_key: int, version: int, body: Mapping[str, object], *, transaction: bool = False
    ) -> Decoded:
        if self._alone:
            return await self.ask(api_key, version, body)
        kind = TRANSACTION_KEY if transaction else GROUP_KEY
        known = self.view.coordinator(kind, key)
        if known is None:
            if code := await self.find_coordinator(key, transaction=transaction):
                raise NoAnswer(f"no coordinator of {key}: {ErrorCode(code).name}")
            known = self.view.coordinator(kind, key)
        try:
            return await self.ask(api_key, version, body, to=known)
        except NoAnswer:
            self.view.forget_coordinator(kind, key)
            raise

    def heard_coordinator(self, key: str, code: int, *, transaction: bool = False) -> None:
        if _moved(code):
            self.view.forget_coordinator(TRANSACTION_KEY if transaction else GROUP_KEY, key)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
