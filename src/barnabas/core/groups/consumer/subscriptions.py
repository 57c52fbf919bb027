"""What a group reads: names, and regular expressions resolved on the server (RE2, KIP-848).

RE2 runs in time linear in the topic's name whatever the pattern, so a client cannot stop the loop with one. A pattern
must match the whole name. The topics it stands for are written down (kind 16) and looked up again when topics change.
With thousands of names to match, a thread does it: meanwhile the members that ask for the expression have no topics of
it (or the ones it stood for before), the group's assignment waits, and its members are told to come back soon.
"""

import hashlib
from functools import partial
from typing import TYPE_CHECKING

import re2

from barnabas.core.coordinator.pattern import Pattern
from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.regex_cache import matching
from barnabas.core.groups.effects import Job
from barnabas.core.groups.records.consumer_group import ConsumerGroupValue, RegexValue
from barnabas.core.groups.records.keys import Kind, RecordKey
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import GROUP_RECORD_MAX_BYTES, GROUP_REGEX_MAX_BYTES, GROUP_REGEX_MAX_CHARS

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState


def compile_regex(text: str) -> Pattern:
    if len(text) > GROUP_REGEX_MAX_CHARS:
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, f"longer than {GROUP_REGEX_MAX_CHARS} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = GROUP_REGEX_MAX_BYTES
    try:
        compiled: Pattern = re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{text}` is not a valid regular expression: {reason}.",
        ) from error
    return compiled


def resolve(world: "ShardState", group: ConsumerGroup, text: str) -> RegexValue | None:
    """The topics an expression stands for; None while a thread is finding out."""
    names = world.regexes.unmatched(text, world.topics)
    if len(names) > world.config.regex_inline_names:
        if text not in group.resolving:
            group.resolving.add(text)
            compute = partial(matching, compile_regex(text), names)
            world.jobs.append(Job(compute, partial(_resolved, world, group, text, names)))
        return None
    if names:
        world.regexes.add(text, names, matching(compile_regex(text), names))
    topics = world.regexes.topics(text, world.topics)
    if group.may_describe is not None:  # an expression must not tell a member of topics that it may not see
        topics = tuple(filter(group.may_describe, topics))
    return RegexValue(topics, world.topics.version, world.wall.stamp_ms)


def _resolved(world: "ShardState", group: ConsumerGroup, text: str, names: frozenset[str], found: list[str]) -> None:
    world.regexes.add(text, names, found)
    group.resolving.discard(text)
    if world.groups.get(group.group_id) is group and group.members:
        resolved = update_regexes(world, group)
        look_again(world, group, changed=resolved)


def look_again(world: "ShardState", group: ConsumerGroup, *, changed: bool = False) -> None:
    """Topics appeared, vanished or grew: if the group reads any of them it begins another epoch."""
    refresh_regexes(world, group)
    if group.resolving and not changed:
        return  # once its topics are known
    fingerprint = metadata_hash(world, group)
    if changed or fingerprint != group.facts.metadata_hash:
        bump_epoch(world, group, fingerprint)


def update_regexes(world: "ShardState", group: ConsumerGroup) -> bool:
    """Resolve expressions that are new, forget those nobody uses; True when the topics of any have changed."""
    used = {member.facts.topic_regex for member in group.members.values() if member.facts.topic_regex}
    changed = False
    for text in sorted(used - group.regexes.keys()):
        found = resolve(world, group, text)
        if found is not None:
            _remember(world, group, text, found)
            changed = True
    for text in sorted(group.regexes.keys() - used):
        del group.regexes[text]
        world.tombstone(Kind.CONSUMER_REGEX, group.group_id, text)
    return changed


def refresh_regexes(world: "ShardState", group: ConsumerGroup) -> None:
    for text, known in list(group.regexes.items()):
        found = resolve(world, group, text)
        if found is not None and found.topics != known.topics:
            _remember(world, group, text, found)


def _remember(world: "ShardState", group: ConsumerGroup, text: str, value: RegexValue) -> None:
    group.regexes[text] = value
    encoded = value.encode()
    if len(encoded) > GROUP_RECORD_MAX_BYTES:  # names of thousands of topics: they are looked up again at loading
        encoded = RegexValue((), -1, value.timestamp_ms).encode()
    world.write(RecordKey(Kind.CONSUMER_REGEX, group.group_id, text), encoded)


def metadata_hash(world: "ShardState", group: ConsumerGroup) -> int:
    """A fingerprint of the topics the group reads: it moves when one of them appears, vanishes, or grows.

    The number is ours, not Kafka's: it is compared with what the same coordinator wrote, never across implementations.
    A log taken over from Apache Kafka sees one rebalance for it.
    """
    digest = hashlib.blake2b(digest_size=8)
    found = False
    for name in sorted(group.subscribed_topics()):
        topic_id, count = world.topics.topic_id(name), world.topics.partition_count(name)
        if topic_id is not None and count is not None:
            found = True
            digest.update(topic_id + count.to_bytes(4, "big"))
    return int.from_bytes(digest.digest(), "big", signed=True) if found else 0


def bump_epoch(world: "ShardState", group: ConsumerGroup, fingerprint: int | None = None) -> None:
    """`fingerprint` is the present metadata hash, where the caller knows it."""
    if fingerprint is None:
        fingerprint = metadata_hash(world, group)
    group.facts = ConsumerGroupValue(group.epoch + 1, fingerprint)
    world.write(RecordKey(Kind.CONSUMER_GROUP, group.group_id), group.facts.encode())
