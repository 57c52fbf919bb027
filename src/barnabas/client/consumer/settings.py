"""A consumer's options as librdkafka's settings, and the combinations that make no sense."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from barnabas.client.common.connection import librdkafka_settings
from barnabas.client.common.setting_names import check_given
from barnabas.client.consumer.start import Where, reset_policy
from barnabas.client.errors import BadSetting
from barnabas.model.ids import topic_name_problem

Commit = Literal["auto", "manual", "before"]
Protocol = Literal["classic", "consumer"]
FETCH_WAIT_MS = (
    100  # librdkafka asks one thing at a time: a partition that has just come waits for the long poll before
)
FETCH_WAIT_TO_END_MS = 10  # whoever stops at the end only waits to be told that it is the end
AUTO_COMMIT_MS = 1_000  # after a crash at most a second of finished work is done again; Kafka's clients say five
FETCH_AGAIN_MS = 5  # librdkafka waits a second by default when its queue is full, and a quick reader waits with it


def check_options(
    topics: Sequence[str],
    group: str | None,
    partitions: Sequence[int] | None,
    commit: str,
    batch_records: int | None,
    max_records: int | None,
) -> None:
    if not topics:
        raise BadSetting("a consumer needs a topic, or a pattern")
    for each in topics:
        _check_topic(each)
    if group == "":
        raise BadSetting("a group needs a name; leave it out to read without one")
    if group is not None and not isinstance(group, str):
        raise BadSetting(f"a group's name is text, not {group!r}")
    if partitions is not None and not (
        isinstance(partitions, Collection) and all(type(each) is int for each in partitions)
    ):
        raise BadSetting(f"partitions is a list of their numbers, as in [0, 3], not {partitions!r}")
    if group is not None and partitions is not None:
        raise BadSetting("the group decides which partitions are read: give either `group` or `partitions`")
    if commit not in ("auto", "manual", "before"):
        raise BadSetting(f'commit is "auto", "manual" or "before", not {commit!r}')
    if batch_records is not None and batch_records < 1:
        raise BadSetting("batch_records is at least 1")
    if max_records is not None and max_records < 0:
        raise BadSetting("max_records is at least 0")


def _check_topic(topic: object) -> None:
    if isinstance(topic, (list, tuple, set, frozenset)):
        named = ", ".join(repr(each) for each in topic)
        raise BadSetting(f"give several topics one by one: Consumer({named}), not as a {type(topic).__name__}")
    if not isinstance(topic, str):
        raise BadSetting(f"a topic's name is text, not {topic!r}")
    if not topic.startswith("^") and (why := topic_name_problem(topic)) is not None:
        raise BadSetting(f"{topic!r} cannot be a topic: {why}")


def consumer_settings(
    bootstrap: str,
    group: str | None,
    start: Where,
    commit: Commit,
    follow: bool,
    isolation_level: str,
    protocol: Protocol,
    instance_id: str | None,
    config: Mapping[str, object] | None,
    extra: Mapping[str, object],
) -> dict[str, object]:
    ours: dict[str, object] = {
        "group.id": group if group is not None else "barnabas-reader",  # wanted by librdkafka, never joined
        "auto.offset.reset": reset_policy(start),
        "enable.auto.commit": group is not None and commit == "auto",
        "auto.commit.interval.ms": AUTO_COMMIT_MS,
        "enable.auto.offset.store": False,  # finished is what the loop came back from, not what was fetched
        "enable.partition.eof": not follow,
        "fetch.wait.max.ms": FETCH_WAIT_MS if follow else FETCH_WAIT_TO_END_MS,
        "fetch.queue.backoff.ms": FETCH_AGAIN_MS,
        "isolation.level": isolation_level,
        # As Java's consumer: the reader may come before the writer. Whoever reads only what is there never does.
        "allow.auto.create.topics": follow,
    }
    if isolation_level not in ("read_committed", "read_uncommitted"):
        raise BadSetting(f'isolation_level is "read_committed" or "read_uncommitted", not {isolation_level!r}')
    if protocol == "consumer":
        ours["group.protocol"] = "consumer"
    elif protocol != "classic":
        raise BadSetting(f'protocol is "classic" or "consumer", not {protocol!r}')
    if instance_id is not None:
        ours["group.instance.id"] = instance_id
    check_given("consumer", config, extra)
    return librdkafka_settings(bootstrap, ours, config, extra)


def is_incremental(settings: Mapping[str, object]) -> bool:
    """Do partitions come and go one by one (cooperative), or all at once?"""
    return settings.get("group.protocol") == "consumer" or "cooperative" in str(
        settings.get("partition.assignment.strategy", "")
    )
