"""What the planner asks the cluster: which partitions there are, where they begin and end, what was there at a time.

Everything is asked through librdkafka's admin client, so that TLS and logins work here as everywhere, and in bulk: one
request a leader for all partitions. A leader that is just moving answers in a moment, so a look-up that fails is
repeated for a while before it becomes an error. Only the group's offsets go by our own connections (group_commits.py).
"""

from __future__ import annotations

import concurrent.futures
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from confluent_kafka import ConsumerGroupTopicPartitions, IsolationLevel, KafkaException, TopicPartition

from barnabas.client.admin.connection import AdminConnection
from barnabas.client.admin.rdkafka import OffsetSpec
from barnabas.client.common.connection import CONNECT_TIMEOUT_S
from barnabas.client.errors import BarnabasError, NotAllowed, UnknownTopic, translate
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.nearest import did_you_mean
from barnabas.pipelines.source.bounds import EARLIEST, LATEST, Bound, Offsets, Place
from barnabas.pipelines.source.group import COMMITTED_BY
from barnabas.pipelines.source.group_commits import COMMIT_WITHIN_S, GroupCommits
from barnabas.pipelines.source.leader import CLIENT_ID
from barnabas.pipelines.source.loss import lost
from barnabas.pipelines.source.options import SourceOptions
from barnabas.pipelines.source.security import is_spoken_here, librdkafka_settings_of

ANSWER_WITHIN_S = 30.0  # as long as a node may be away before a query that plans gives up
APPEARS_WITHIN_S = 3.0
RETRY_S = 0.2
OFFLINE = -1001  # librdkafka's "not known": nobody leads the partition

Answer = TypeVar("Answer")


class Cluster:
    def __init__(self, options: SourceOptions) -> None:
        self.options = options
        self._settings = librdkafka_settings_of(options.client)
        isolation = IsolationLevel.READ_COMMITTED if options.read_committed else IsolationLevel.READ_UNCOMMITTED
        self._isolation = isolation
        try:
            self._admin = AdminConnection(options.bootstrap, 10.0, CONNECT_TIMEOUT_S, self._settings, {})
        except BarnabasError as error:
            raise PipelineError(str(error)) from None
        self._commits: GroupCommits | None = None

    def close(self) -> None:
        self._admin.close()
        if self._commits is not None:
            self._commits.close()
            self._commits = None

    # --- partitions --------------------------------------------------------------------------------------------------

    def partitions(self, *, lenient: bool = False) -> list[Place]:
        """Every partition the options ask for; what is named and does not exist is an error, unless `lenient`."""
        return self._patiently(lambda: self._partitions(lenient), f"look up {self.options.wanted}")

    def _partitions(self, lenient: bool) -> list[Place]:
        topics = self._admin.client.list_topics(timeout=10.0).topics
        known = {name: sorted(each.partitions) for name, each in topics.items() if each.error is None}
        options = self.options
        if options.pattern is not None:
            pattern = re.compile(options.pattern)
            names = [name for name in known if pattern.fullmatch(name)]
            return sorted((name, part) for name in names for part in known[name])
        missing = [name for name in options.topics or sorted({t for t, _ in options.assigned}) if name not in known]
        if missing and not lenient:
            hint = did_you_mean(missing[0], (name for name in known if not name.startswith("__")))
            raise PipelineError(f"there is no topic {', '.join(missing)} at {options.bootstrap}.{hint}")
        for topic, part in () if lenient else options.assigned:
            if part not in known[topic]:
                raise PipelineError(f"topic {topic} has {len(known[topic])} partitions, none is {part}")
        if options.assigned:
            return sorted((topic, part) for topic, part in options.assigned if part in known.get(topic, ()))
        return sorted((name, part) for name in options.topics for part in known.get(name, ()))

    # --- offsets -----------------------------------------------------------------------------------------------------

    def earliest(self, places: Iterable[Place]) -> Offsets:
        return self._offsets({place: OffsetSpec.earliest() for place in places})

    def latest(self, places: Iterable[Place]) -> Offsets:
        """The end as this reader sees it: the last stable offset when it reads committed records only."""
        return self._offsets({place: OffsetSpec.latest() for place in places})

    def at_times(self, times: Mapping[Place, int]) -> Offsets:
        """The first offset with such a timestamp or a later one; -1 where there is none."""
        return self._offsets({place: OffsetSpec.for_timestamp(time_ms) for place, time_ms in times.items()})

    def resolve(self, bound: Bound, places: list[Place], option: str, *, without_match: int | None) -> Offsets:
        """`bound` as an offset for each of `places`; -1 and -2 are looked up.

        `without_match` is what stands for a time after the last record: LATEST, or None for an error. An offset after
        the end is lost data, as in the connector; a query that goes on without (failOnDataLoss) takes the end.
        """
        option = bound.option or option
        if bound.word is not None:
            wanted = dict.fromkeys(places, bound.word)
        elif bound.by_time:
            wanted = self._resolve_times(bound, places, option, without_match)
        else:
            wanted = _exactly(bound.offsets, places, option)
        found = self._not_beyond_the_end({p: offset for p, offset in wanted.items() if offset >= 0}, bound, option)
        found |= self.earliest([place for place, offset in wanted.items() if offset == EARLIEST])
        found |= self.latest([place for place, offset in wanted.items() if offset == LATEST])
        return found

    def _not_beyond_the_end(self, offsets: Offsets, bound: Bound, option: str) -> Offsets:
        if not bound.offsets or not offsets:
            return offsets
        ends = self.latest(offsets)
        for (topic, part), offset in offsets.items():
            end = ends[topic, part]
            if offset > end:
                visible = " for a reader of committed records" if self.options.read_committed else ""
                lost(f"{option} names offset {offset} of {topic}-{part}, which ends at {end}{visible}", self.options)
        return {place: min(offset, ends[place]) for place, offset in offsets.items()}

    def _resolve_times(self, bound: Bound, places: list[Place], option: str, without_match: int | None) -> Offsets:
        if bound.timestamp is not None:
            times = dict.fromkeys(places, bound.timestamp)
        else:
            times = _exactly(bound.timestamps, places, option)
        found = self.at_times(times)
        for place, offset in found.items():
            if offset < 0:
                if without_match is None:
                    raise PipelineError(
                        f"{option}: {place[0]}-{place[1]} has no record at or after {times[place]};"
                        " startingOffsetsByTimestampStrategy=latest starts at its end"
                    )
                found[place] = without_match
        return found

    def _offsets(self, wanted: Mapping[Place, OffsetSpec]) -> Offsets:
        if not wanted:
            return {}
        names = ", ".join(sorted({topic for topic, _ in wanted}))
        return self._patiently(lambda: self._ask_offsets(wanted), f"look up the offsets of {names}")

    def _ask_offsets(self, wanted: Mapping[Place, OffsetSpec]) -> Offsets:
        request = {TopicPartition(topic, part): spec for (topic, part), spec in wanted.items()}
        answers = self._admin.client.list_offsets(request, isolation_level=self._isolation, request_timeout=10.0)
        found = {(key.topic, key.partition): future.result(12.0).offset for key, future in answers.items()}
        away = [place for place, offset in found.items() if offset <= OFFLINE]
        if away:
            raise _Leaderless(f"nobody leads {away[0][0]}-{away[0][1]}")
        return found

    # --- the group ---------------------------------------------------------------------------------------------------

    def commit(self, offsets: Offsets) -> None:
        """Say how far the query is, as a group that nobody joins; `barnabas group describe` shows its lag."""
        if not is_spoken_here(self._settings):
            self._commit_by_librdkafka(offsets)
            return
        if self._commits is None:
            self._commits = GroupCommits(self.options.bootstrap, self.options.group, CLIENT_ID, self._settings)
        self._commits.commit(offsets)

    def _commit_by_librdkafka(self, offsets: Offsets) -> None:
        """By the admin client: a consumer that may not use the group waits for its coordinator, 45 s with every
        batch."""
        group, doing = self.options.group, f"commit offsets of group {self.options.group}"
        places = [
            TopicPartition(topic, part, offset, COMMITTED_BY) for (topic, part), offset in sorted(offsets.items())
        ]
        request = [ConsumerGroupTopicPartitions(group, places)]
        try:
            answer = self._admin.client.alter_consumer_group_offsets(request, request_timeout=COMMIT_WITHIN_S)[group]
            found = answer.result(COMMIT_WITHIN_S + 1)
        except KafkaException as error:
            raise translate(error, doing, self.options.bootstrap) from None
        except concurrent.futures.TimeoutError:
            raise BarnabasError(f"{doing}: no answer from {self.options.bootstrap}") from None
        refused = next((place.error for place in found.topic_partitions if place.error is not None), None)
        if refused is not None:
            raise translate(KafkaException(refused), doing, self.options.bootstrap)

    # --- patience ----------------------------------------------------------------------------------------------------

    def _patiently(self, ask: Callable[[], Answer], doing: str) -> Answer:
        begun = time.monotonic()
        while True:
            patience_s = ANSWER_WITHIN_S
            try:
                return ask()
            except _Leaderless as error:
                problem: Exception = PipelineError(str(error))
            except concurrent.futures.TimeoutError:
                problem = PipelineError(f"{doing}: no answer from {self.options.bootstrap}")
            except KafkaException as error:
                told = translate(error, doing, self.options.bootstrap)
                problem = PipelineError(str(told))
                if isinstance(told, NotAllowed):
                    patience_s = 0.0
                elif isinstance(told, UnknownTopic):  # one that has just been made may not be known everywhere
                    patience_s = APPEARS_WITHIN_S
            if time.monotonic() - begun + RETRY_S > patience_s:
                raise problem from None
            time.sleep(RETRY_S)


class _Leaderless(Exception):
    """A partition that nobody leads at the moment."""


def _exactly(given: Offsets, places: list[Place], option: str) -> Offsets:
    """The connector's rule: offsets given by partition name every partition that is read, and no other."""
    if set(given) == set(places):
        return dict(given)
    missing = sorted(set(places) - set(given))
    place, fault = (missing[0], "is left out") if missing else (sorted(set(given) - set(places))[0], "is not read")
    raise PipelineError(f"{option} names every partition that is read and no other: {place[0]}-{place[1]} {fault}")
