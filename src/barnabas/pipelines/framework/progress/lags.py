"""How far the groups of a run's queries are, asked once a second while the run goes on.

Committed offsets are read by our own connections: librdkafka's admin client aborts the process, here the driver's, when
the connection breaks during a request to a coordinator (source/group_commits.py). The ends of partitions and the times
of records are asked of their leaders, which it survives.
"""

from __future__ import annotations

from barnabas.client.admin.connection import AdminConnection
from barnabas.client.admin.descriptions import GroupPartition
from barnabas.client.admin.groups import describe_group, partition_rows
from barnabas.client.common.connection import CONNECT_TIMEOUT_S
from barnabas.client.errors import UnknownGroup
from barnabas.pipelines.framework.topics import ADMIN_SETTINGS
from barnabas.pipelines.source.group_commits import GroupCommits
from barnabas.pipelines.source.security import is_spoken_here

ANSWER_S = 10.0


class Lags:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._connection = AdminConnection(bootstrap, ANSWER_S, CONNECT_TIMEOUT_S, ADMIN_SETTINGS, {})
        self._settings = {name: each for name, each in self._connection.settings.items() if isinstance(each, str)}
        self._groups: dict[str, GroupCommits] = {}

    def close(self) -> None:
        self._connection.close()
        for each in self._groups.values():
            each.close()

    def of(self, group: str) -> list[GroupPartition]:
        """Nothing for a group that has not committed anything yet."""
        if not is_spoken_here(self._settings):
            return self._by_librdkafka(group)
        if group not in self._groups:
            self._groups[group] = GroupCommits(self._bootstrap, group, ADMIN_SETTINGS["client.id"], self._settings)
        committed = self._groups[group].committed()
        return partition_rows(self._connection, committed, [], True) if committed else []

    def _by_librdkafka(self, group: str) -> list[GroupPartition]:
        try:
            return describe_group(self._connection, group, True).partitions
        except UnknownGroup:
            return []
