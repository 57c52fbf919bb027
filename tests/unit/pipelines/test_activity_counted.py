"""What the activity pipeline counts without making pairs and sessions, against the plain loops of `answer`."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from barnabas.pipelines.activity import answer
from barnabas.pipelines.activity.generator import JOBS, SEARCHES, VIEWS, Activity
from barnabas.pipelines.activity.offers import Meeting, Offers
from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.activity.town import Town
from barnabas.pipelines.activity.visits import Visits, Walk

BEGIN = 1_790_000_400_000
END = BEGIN + 2 * 3_600_000
GAP_MS = 300_000
BUSY_TOWN = Town(7, members=60, companies=10)
RECORDS = list(Activity(7, BUSY_TOWN, job_share=0.05).history(BEGIN, END, 3000))
RULES = (Rules(3_600_000, 600_000, 60_000), Rules(600_000, 0, 60_000), Rules(60_000, 60_000, 60_000))


def call_of(because: str, event: dict[str, Any]) -> tuple[str, ...]:
    return ("search", event["field"], event["city"]) if because == "search" else ("view", event["company"])


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("at_once", [1, 37, 100_000])
def test_jobs_met_are_counted_as_by_making_all_pairs(rules: Rules, at_once: int) -> None:
    searches, views, jobs = (answer.once(RECORDS, topic, rules.late_ms) for topic in (SEARCHES, VIEWS, JOBS))
    numbers: dict[tuple[str, ...], int] = {}
    offered = [
        (numbers.setdefault(call_of(because, job), len(numbers)), answer.at_ms(job), because, job["id"])
        for job in jobs
        for because in ("search", "view")
    ]
    calls, posted = (np.array([each[column] for each in offered], np.int64) for column in (0, 1))
    offers, places = Offers.of(calls, posted, rules)
    interests = sorted(
        (numbers[call_of(because, each)], each["member"], answer.at_ms(each), because == "search")
        for because, events in (("search", searches), ("view", views))
        for each in events
        if call_of(because, each) in numbers
    )
    meeting = Meeting(offers)
    columns = np.array(interests, np.int64)
    for begin in range(0, len(columns), at_once):
        meeting.take(*(columns[begin : begin + at_once, column] for column in range(4)))

    pairs = answer.recommendations(RECORDS, rules)
    told = defaultdict(set)
    for (_, job), pair in pairs.items():
        told[job, pair["because"]].add(pair["member"])
    assert meeting.pairs == len(pairs) > 0
    assert meeting.helped == len({pair["interest"] for pair in pairs.values() if pair["because"] == "search"})
    members = meeting.members()
    for (_, _, because, job), place in zip(offered, places, strict=True):
        assert members[place] == len(told[job, because])


@pytest.mark.parametrize("at_once", [1, 7, 100_000])
def test_sessions_and_hours_are_those_of_the_plain_loops(at_once: int) -> None:
    want = answer.insights(RECORDS, BEGIN, END, RULES[0], GAP_MS)
    events = [each for topic in (SEARCHES, VIEWS) for each in answer.once(RECORDS, topic)]
    moments = sorted((each["member"], answer.at_ms(each)) for each in events if BEGIN <= answer.at_ms(each) < END)
    columns = np.array(moments, np.int64)
    walk = Walk(GAP_MS)
    for begin in range(0, len(columns), at_once):
        walk.take(columns[begin : begin + at_once, 0], columns[begin : begin + at_once, 1])
    walk.end()
    visits = Visits(walk.members, walk.hours, walk.lengths_s)
    assert visits.sessions(len(moments)) == want.sessions
    assert visits.members == want.members
    assert {hour.begin_ms // 3_600_000: hour.members for hour in want.hours if hour.members} == dict(visits.hours)


def test_nothing_is_no_session() -> None:
    walk = Walk(GAP_MS)
    walk.end()
    assert Visits(walk.members, walk.hours, walk.lengths_s).sessions(0).count == 0
