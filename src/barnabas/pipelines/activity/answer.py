"""The same answers in plain Python, by loops a reader can check by hand: what the tests hold Spark's answers against.

An event counts once, however often it came: its id says which it is. A recommendation is a pair of an interest (a
search for a field in a city, or the view of a company) and a job that fits it and was posted at most `window_ms` before
it or `after_ms` after it; both must have been sent in time (common/lateness.py). The insights count every event,
however late it came.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from statistics import median

from barnabas.model.json_values import JsonObject
from barnabas.pipelines.activity import insights as told
from barnabas.pipelines.activity.generator import JOBS, SEARCHES, VIEWS
from barnabas.pipelines.activity.rules import FRESH_POINTS, SEARCH_POINTS, VIEW_POINTS, Rules
from barnabas.pipelines.common.disorder import millis
from barnabas.pipelines.common.lateness import counts
from barnabas.pipelines.framework.records import Record

HOUR_MS = 3_600_000
Event = JsonObject


def at_ms(event: Event) -> int:
    return millis(event["time"])


def once(records: Iterable[Record], topic: str, late_ms: int | None = None) -> list[Event]:
    """The events of a topic, each once; with `late_ms` only those that were sent in time."""
    found: dict[str, Event] = {}
    for record in records:
        if record.topic == topic and (late_ms is None or counts(at_ms(record.value), record.time_ms, late_ms)):
            found.setdefault(record.value["id"], record.value)
    return list(found.values())


def recommendations(records: Iterable[Record], rules: Rules) -> dict[tuple[str, str], Event]:
    """By (interest, job): who is told of which job, and how well it fits."""
    by_place: dict[tuple[str, ...], list[Event]] = defaultdict(list)
    for job in once(records, JOBS, rules.late_ms):
        by_place["search", job["field"], job["city"]].append(job)
        by_place["view", job["company"]].append(job)
    interests: list[tuple[str, Event, tuple[str, ...]]]
    interests = [("search", s, ("search", s["field"], s["city"])) for s in once(records, SEARCHES, rules.late_ms)]
    interests += [("view", v, ("view", v["company"])) for v in once(records, VIEWS, rules.late_ms)]
    found = {}
    for because, interest, place in interests:
        for job in by_place.get(place, ()):
            age_ms = at_ms(interest) - at_ms(job)
            if -rules.after_ms <= age_ms <= rules.window_ms:
                fresh = FRESH_POINTS - FRESH_POINTS * max(0, age_ms) // rules.window_ms
                found[interest["id"], job["id"]] = {
                    "member": interest["member"],
                    "because": because,
                    "interest": interest["id"],
                    "job": job["id"],
                    "title": job["title"],
                    "company": job["company"],
                    "city": job["city"],
                    "score": (SEARCH_POINTS if because == "search" else VIEW_POINTS) + fresh,
                }
    return found


def insights(records: list[Record], begin_ms: int, end_ms: int, rules: Rules, gap_ms: int) -> told.Insights:
    """The figures of the report for the events of [begin, end)."""

    def within(events: list[Event]) -> list[Event]:
        return [event for event in events if begin_ms <= at_ms(event) < end_ms]

    searches, views, jobs = (within(once(records, topic)) for topic in (SEARCHES, VIEWS, JOBS))
    inside = {event["id"] for event in (*searches, *views)}
    made = {pair: each for pair, each in recommendations(records, rules).items() if pair[0] in inside}
    viewed = Counter(view["search"] for view in views if view.get("search"))
    ids = {search["id"] for search in searches}
    return told.Insights(
        begin_ms,
        end_ms,
        searches=len(searches),
        views=len(views),
        jobs=len(jobs),
        members=len({event["member"] for event in (*searches, *views)}),
        recommendations=len(made),
        helped=len({interest for interest, _ in made} & ids),
        hours=_hours(searches, views, jobs),
        companies=_companies(views, jobs),
        places=_places(searches),
        funnel=(
            len(searches),
            sum(search["found"] > 0 for search in searches),
            sum(viewed[each] > 0 for each in ids),
            sum(viewed[each] > 2 for each in ids),
        ),
        fields=_fields(searches, jobs),
        sessions=_sessions([*searches, *views], gap_ms),
        tips=_tips(list(made.values())),
    )


def _hours(searches: list[Event], views: list[Event], jobs: list[Event]) -> tuple[told.Hour, ...]:
    counts: dict[str, Counter[int]] = {}
    for name, events in (("searches", searches), ("views", views), ("jobs", jobs)):
        counts[name] = Counter(at_ms(event) // HOUR_MS for event in events)
    active = defaultdict(set)
    for event in (*searches, *views):
        active[at_ms(event) // HOUR_MS].add(event["member"])
    hours = sorted({hour for each in counts.values() for hour in each})
    return tuple(
        told.Hour(
            hour * HOUR_MS,
            counts["searches"][hour],
            counts["views"][hour],
            counts["jobs"][hour],
            len(active[hour]),
        )
        for hour in hours
    )


def _companies(views: list[Event], jobs: list[Event]) -> tuple[told.Company, ...]:
    posted = Counter(job["company"] for job in jobs)
    viewers = defaultdict(set)
    for view in views:
        viewers[view["company"]].add(view["member"])
    counted = Counter(view["company"] for view in views)
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[: told.TOP]
    return tuple(told.Company(name, count, len(viewers[name]), posted[name]) for name, count in ranked)


def _places(searches: list[Event]) -> tuple[tuple[str, str, int], ...]:
    counted = Counter((search["field"], search["city"]) for search in searches)
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[: told.TOP]
    return tuple((field, city, count) for (field, city), count in ranked)


def _fields(searches: list[Event], jobs: list[Event]) -> tuple[told.Field, ...]:
    wanted = Counter(search["field"] for search in searches)
    offered = Counter(job["field"] for job in jobs)
    by_hour = Counter((search["field"], at_ms(search) // HOUR_MS % 24) for search in searches)
    names = sorted({*wanted, *offered}, key=lambda name: (-wanted[name], name))
    return tuple(
        told.Field(name, wanted[name], offered[name], tuple(by_hour[name, hour] for hour in range(24)))
        for name in names
    )


def _tips(made: list[Event]) -> tuple[told.Tip, ...]:
    members = defaultdict(set)
    for each in made:
        members[each["job"], each["title"], each["company"], each["city"]].add(each["member"])
    ranked = sorted(members.items(), key=lambda item: (-len(item[1]), item[0]))[: told.TOP]
    return tuple(told.Tip(*job, len(who)) for job, who in ranked)


def _sessions(events: list[Event], gap_ms: int) -> told.Sessions:
    """A session is what one member does without a pause as long as the gap."""
    by_member = defaultdict(list)
    for event in events:
        by_member[event["member"]].append(at_ms(event))
    lengths_ms = []
    for times in by_member.values():
        times.sort()
        first = last = times[0]
        for moment in times[1:]:
            if moment - last > gap_ms:
                lengths_ms.append(last - first)
                first = moment
            last = moment
        lengths_ms.append(last - first)
    if not lengths_ms:
        return told.Sessions()
    classes = [0] * (len(told.LENGTHS_S) + 1)
    for length in lengths_ms:
        classes[bisect_right(told.LENGTHS_S, length / 1000)] += 1
    total_s = sum(length // 1000 for length in lengths_ms)
    middle = median(length // 1000 for length in lengths_ms)
    return told.Sessions(len(lengths_ms), len(events), total_s, float(middle), tuple(classes))
