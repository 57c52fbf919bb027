"""Keeps what is not records like the source's: topics, settings, offsets of groups, rules, users. One node of the
cluster does it for a link.

Everything is asked of the source again and again, and only differences are carried out, each of which may be done
twice: when the node that does it is lost, the next one begins where it finds things. The more there is to compare the
longer is the pause, so that a link of many partitions and groups takes less than a percent of a core (10,000 partitions
of 200 topics: about a quarter of a second, with their settings). The pause hangs on how much there is, not on how long
it took: a source that is far away is as good as any other.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from barnabas.broker.clock import wall_ms
from barnabas.broker.cluster_links.acls import AclSync
from barnabas.broker.cluster_links.groups import GroupSync
from barnabas.broker.cluster_links.source import LinkSettings, source_nodes
from barnabas.broker.cluster_links.topics import TopicSync
from barnabas.broker.cluster_links.users import UserSync
from barnabas.broker.controller.requests import AskController
from barnabas.broker.replication.environment import ReplicaIO
from barnabas.broker.roles import ConfiguredBroker
from barnabas.link.errors import LinkDown, LoginFailed, UnknownApi
from barnabas.model.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.broker.audit.trail import AuditTrail

log = logging.getLogger(__name__)

_PAUSE_S = 1.0
_PER_PARTITION_S, _PER_OFFSET_S, _PAUSE_MAX_S = 0.004, 0.001, 60.0
_TOPICS_EVERY_S, _GROUPS_EVERY_S, _ACLS_EVERY_S, _USERS_EVERY_S = 3.0, 1.0, 10.0, 5.0
_PER_USER_S = 0.003


class LinkSync:
    def __init__(
        self,
        name: str,
        settings: LinkSettings,
        broker: ConfiguredBroker,
        io: ReplicaIO,
        ask: AskController,
        audit: "AuditTrail | None" = None,
    ) -> None:
        self._name, self._settings = name, settings
        self._nodes = source_nodes(name, settings, io.threads)
        self._topics = TopicSync(name, settings, self._nodes, broker, ask)
        self._groups = GroupSync(name, settings, self._nodes, broker, io.peers)
        self._acls = AclSync(settings, self._nodes, broker, ask)
        self.users: UserSync | None = None  # None: they do not follow
        if settings.bool("sync.users"):
            self.users = UserSync(name, settings, self._nodes, broker, ask, audit)
        self._topics_due = self._groups_due = self._acls_due = self._users_due = 0.0
        self._group_problems: list[str] = []
        self._acl_problems: list[str] = []
        self._user_problems: list[str] = []
        self.synced_ms = -1  # when the last round that succeeded and brought the offsets of groups began
        self.error = ""
        self._task = asyncio.ensure_future(self._run())

    def close(self) -> None:
        self._task.cancel()
        self._nodes.close()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began, began_ms = loop.time(), wall_ms()
            try:
                with_groups = began >= self._groups_due
                problems = await self._round(began)
                self._say("; ".join(problems))
                if with_groups:
                    self.synced_ms = began_ms
            except (LinkDown, LoginFailed, UnknownApi, KafkaError) as error:
                self._say(str(error))
            except Exception as error:  # whatever the source answers, this node goes on and tries again
                log.exception("link %r: topics and groups are not like the source's", self._name)
                self._say(f"{type(error).__name__}: {error}")
            await asyncio.sleep(_PAUSE_S)

    async def _round(self, now: float) -> list[str]:
        """Gives what could not be done, each in a few words."""
        problems: list[str] = []
        if now >= self._topics_due:
            await self._topics.sync()
            self._topics_due = now + _pause(_TOPICS_EVERY_S, self._topics.partitions * _PER_PARTITION_S)
        problems += self._topics.problems
        if now >= self._groups_due:
            if self._settings.bool("sync.groups"):
                self._group_problems = await self._groups.sync()
            self._groups_due = now + _pause(_GROUPS_EVERY_S, self._groups.offsets * _PER_OFFSET_S)
        problems += self._group_problems
        if self._settings.bool("sync.acls") and now >= self._acls_due:
            self._acl_problems = await self._acls.sync()
            self._acls_due = now + _ACLS_EVERY_S
        problems += self._acl_problems
        if self.users is not None and now >= self._users_due:
            self._user_problems = await self.users.sync()
            self._users_due = now + _pause(_USERS_EVERY_S, self.users.count * _PER_USER_S)
        return problems + self._user_problems

    def _say(self, problem: str) -> None:
        if problem and problem != self.error:
            log.warning("link %r: %s", self._name, problem)
        self.error = problem


def _pause(least_s: float, by_size_s: float) -> float:
    return min(max(least_s, by_size_s), _PAUSE_MAX_S)
