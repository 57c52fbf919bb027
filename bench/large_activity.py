"""A day of activity of any size: up to a million events of one town, and more of more towns.

The pipeline's own generator makes a town's day, with its hours of the day, its late and doubled events. Each town has
its own members, companies, cities and ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from barnabas.pipelines.activity.generator import JOBS, MEMBERS, SEARCHES, VIEWS, Activity
from barnabas.pipelines.activity.town import Town
from barnabas.pipelines.framework.records import Record

from .large_log import PLACE, Made, write_copies

TOPICS = (SEARCHES, VIEWS, JOBS, MEMBERS)
DAY_MS = 86_400_000
TOWN_EVENTS = 1_000_000
TOWN_MEMBERS = 20_000
PROFILES = 100  # of so many members of a town it is known who they are: each may get a digest, which is a file
_SEED = 0xBA2E
_NAMED = ("id", "search", "city", "company")


def write(bootstrap: str, names: dict[str, str], events: int, end_ms: int) -> tuple[int, dict[str, int]]:
    """Write so many events, about, of the day that ends then. Returns how many records they are, and how many searches,
    views and jobs when each counts once."""
    towns = max(1, round(events / TOWN_EVENTS))
    town = list(_made(min(events, TOWN_EVENTS), end_ms))
    happened = [record for record in town if record[0] != MEMBERS]
    once = Counter(topic for topic, _ in {(topic, value) for topic, _, value, _ in happened})
    write_copies(bootstrap, names, town, towns)
    counts = {"searches": once[SEARCHES], "views": once[VIEWS], "jobs": once[JOBS]}
    return len(happened) * towns, {name: count * towns for name, count in counts.items()}


def _made(events: int, end_ms: int) -> Iterator[Made]:
    activity = Activity(_SEED, Town(_SEED, members=TOWN_MEMBERS))
    begin_ms = end_ms - DAY_MS
    for record in activity.members(begin_ms):
        if record.value["member"] % (TOWN_MEMBERS // PROFILES) == 0:
            yield _marked(record)
    for record in activity.history(begin_ms, end_ms, events):
        yield _marked(record)


def _marked(record: Record) -> Made:
    value = {name: f"{PLACE}{each}" if name in _NAMED else each for name, each in record.value.items()}
    text = msgspec.json.encode(value).decode()
    key = f"{PLACE}{record.key}"
    if "member" in value:
        key = f"1{PLACE}{value['member']:06d}"  # a whole number, as the schema wants it
        text = text.replace(f'"member":{value["member"]},', f'"member":{key},')
    return record.topic, key, text, record.time_ms
