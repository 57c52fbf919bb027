"""Topics: the list with what moves in it."""

from __future__ import annotations

from collections import defaultdict

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
    for group, offsets in facts.committed.items():
        for partition, offset in offsets.items():
            groups[partition[0]].add(group)
            lags[partition[0]] += max(0, facts.ends.get(partition, offset) - offset)
    return {
        "problem": facts.problem,
        "topics": [
            {
                "name": topic.name,
                "internal": topic.internal,
                "partitions": len(topic.partitions),
                "replication_factor": topic.replication_factor,
                "under_replicated": sum(each.is_under_replicated for each in topic.partitions),
                "offline": sum(each.leader < 0 for each in topic.partitions),
                "records": records.get(topic.name, 0),
                "bytes": facts.sizes.get(topic.name, 0),
                "records_per_s": observer.records_rate(topic.name),
                "groups": len(groups.get(topic.name, ())),
                "lag": lags.get(topic.name, 0),
            }
            for topic in facts.topics.values()
        ],
    }


ROUTES = [
    Route("GET", "/topics", list_topics),
]
