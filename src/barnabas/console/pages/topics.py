"""Topics: the list with what moves in it, and one topic with its partitions, groups and settings."""

from __future__ import annotations

from collections import defaultdict

from barnabas.console.clusters.facts import Facts, Topic
from barnabas.console.clusters.settings import TOPIC, read_settings
from barnabas.console.problems import NotFound
from barnabas.console.web.calls import Call, Route

_FIRST_LOOK_SECONDS = 5.0


async def list_topics(call: Call) -> object:
    observer = call.connection.observer
    await observer.first_look(_FIRST_LOOK_SECONDS)
    facts = observer.facts
    records: dict[str, int] = defaultdict(int)
    for (name, index), end in facts.ends.items():
        records[name] += max(0, end - facts.starts.get((name, index), 0))
    groups: dict[str, set[str]] = defaultdict(set)
    lags: dict[str, int] = defaultdict(int)
    seconds: dict[str, float] = {}
    for group, offsets in facts.committed.items():
        for partition, offset in offsets.items():
            groups[partition[0]].add(group)
            lags[partition[0]] += max(0, facts.ends.get(partition, offset) - offset)
            if (behind := facts.partition_seconds(partition, offset)) is not None:
                seconds[partition[0]] = max(behind, seconds.get(partition[0], 0.0))
    return {
        "problem": facts.problem,
        "nodes": sum(not each.fenced for each in facts.nodes.values()),
        "topics": [
            {
                "name": topic.name,
                "internal": topic.internal,
                "partitions": len(topic.partitions),
                "replication_factor": topic.replication_factor,
                "under_replicated": sum(each.is_under_replicated for each in topic.partitions),
                "offline": sum(each.leader < 0 for each in topic.partitions),
                "records": records.get(topic.name, 0),
                "bytes": facts.size(topic.name),
                "records_per_s": observer.records_rate(topic.name),
                "bytes_per_s": observer.history.last(f"topic:{topic.name}:in.bytes"),
                "groups": len(groups.get(topic.name, ())),
                "lag": lags.get(topic.name, 0),
                "lag_seconds": seconds.get(topic.name),
            }
            for topic in facts.topics.values()
        ],
    }


async def one_topic(call: Call) -> object:
    observer = call.connection.observer
    await observer.first_look(_FIRST_LOOK_SECONDS)
    if call.path("topic") not in observer.facts.topics:  # it may have been made since the last look
        observer.hurry()
        await observer.next_look(_FIRST_LOOK_SECONDS)
    facts, topic = observer.facts, known_topic(call.facts, call.path("topic"))
    return {
        "name": topic.name,
        "id": topic.id,
        "internal": topic.internal,
        "bytes": facts.size(topic.name),
        "records_per_s": observer.records_rate(topic.name),
        "partitions": [
            {
                "index": each.index,
                "leader": each.leader,
                "leader_epoch": each.leader_epoch,
                "replicas": each.replicas,
                "in_sync": each.in_sync,
                "start": facts.starts.get((topic.name, each.index)),
                "end": facts.ends.get((topic.name, each.index)),
            }
            for each in topic.partitions
        ],
        "groups": _groups(facts, topic),
    }


def known_topic(facts: Facts, name: str) -> Topic:
    found = facts.topics.get(name)
    if found is None:
        raise NotFound(f"there is no topic {name!r}", "It may have been deleted, or you may not see it.")
    return found


def _groups(facts: Facts, topic: Topic) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for group, offsets in facts.committed.items():
        mine = {part: offset for part, offset in offsets.items() if part[0] == topic.name}
        if mine:
            lag = sum(max(0, facts.ends.get(part, offset) - offset) for part, offset in mine.items())
            known = facts.groups.get(group)
            ages = [facts.partition_seconds(part, offset) for part, offset in mine.items()]
            seconds = max((each for each in ages if each is not None), default=None)
            state = known.state if known else ""
            found.append({"name": group, "state": state, "lag": lag, "seconds": seconds, "partitions": len(mine)})
    return found


async def settings(call: Call) -> object:
    return await read_settings(call.nodes, TOPIC, call.path("topic"))


ROUTES = [
    Route("GET", "/topics", list_topics),
    Route("GET", "/topics/{topic}", one_topic),
    Route("GET", "/topics/{topic}/settings", settings),
]
