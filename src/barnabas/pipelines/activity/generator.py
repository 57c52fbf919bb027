"""Believable activity: members who search, look at what they found, and companies that post jobs.

A small model of visits, not noise: whoever searches then looks at up to four companies, most of them of the field that
was searched, some seconds apart, and some search again. Jobs are posted all day by companies, now and then. Every event
has an id, and a time: when it happened. It arrives when it arrives (common/disorder.py): a few come late, a few come
twice, and neighbours change places.

`live` never ends and keeps a rate; `history` fills a stretch of the past with the shape of a working day.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Iterator

from barnabas.pipelines.activity.town import Town
from barnabas.pipelines.common.disorder import Disorder, Happening, as_they_arrive, iso
from barnabas.pipelines.framework.records import Record

SEARCHES = "activity.searches"
VIEWS = "activity.views"
JOBS = "activity.jobs"
MEMBERS = "activity.members"

EVENTS_OF_A_VISIT = 3.6  # on average, as `_visit` makes them; the rate of visits is worked out from it
JOBS_PER_S = 1.0  # at most: a busier town has more visitors, not more companies
_WARM_MS = 120_000.0  # the longest visits; from then on as many end as begin
_STEPS_MS = ((1_000, 8_000), (1_000, 8_000), (4_000, 20_000), (15_000, 70_000))  # between two events of a visit


USUAL = Disorder(network_ms=15, late=0.01, late_ms=45_000, too_late=0.001, too_late_ms=300_000, twice=0.005)


class Activity:
    """The stream of one town. Events are made in the order of their time and given in the order of their arrival."""

    def __init__(
        self, seed: int, town: Town | None = None, job_share: float = 0.008, disorder: Disorder = USUAL
    ) -> None:
        self.town = town or Town(seed)
        self._chance = random.Random(seed ^ 0x5EED)
        self._job_share = job_share
        self._disorder = disorder
        self._number = 0
        self._mark = f"{seed & 0xFFFF:x}"

    def live(self, begin_ms: int, rate: float) -> Iterator[Record]:
        """For ever, `rate` events for each second of event time. Visits that began a little before are under way."""
        before_ms = min(_WARM_MS, 20_000_000 / rate)
        made = self._made(begin_ms - before_ms, math.inf, lambda _: rate)
        return self._arriving(event for event in made if event.time_ms >= begin_ms)

    def history(self, begin_ms: int, end_ms: int, count: int) -> Iterator[Record]:
        """About `count` events of this stretch: few at night, a peak before noon and one in the evening."""
        mean = count / max(1.0, (end_ms - begin_ms) / 1000)
        return self._arriving(self._made(begin_ms, end_ms, lambda at_ms: mean * hour_shape(at_ms)))

    def opening_jobs(self, begin_ms: int, end_ms: int, count: int) -> Iterator[Record]:
        """Jobs that were there before anybody looked, evenly over the stretch."""
        for index in range(count):
            job = self._job(begin_ms + (end_ms - begin_ms) * index // max(1, count))
            yield Record(job.topic, job.key, job.value, job.time_ms)

    def members(self, time_ms: int) -> Iterator[Record]:
        """The profile of everybody: the compacted topic of who is who."""
        for number in range(self.town.members):
            member = self.town.member(number)
            value = {"member": number, "name": member.name, "email": member.email, "company": member.company}
            yield Record(MEMBERS, str(number), value, time_ms)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _made(self, begin_ms: float, end_ms: float, rate_at: Callable[[float], float]) -> Iterator[Happening]:
        """Events by time: visits begin by chance, and those under way are kept in a heap by their next event."""
        chance = self._chance
        waiting: list[tuple[int, int, Happening]] = []
        at_ms = float(begin_ms)
        order = 0
        while at_ms < end_ms:
            rate = max(1e-6, rate_at(at_ms))
            jobs = min(rate * self._job_share, JOBS_PER_S)
            visits = (rate - jobs) / EVENTS_OF_A_VISIT
            at_ms += chance.expovariate(visits + jobs) * 1000
            while waiting and waiting[0][0] <= min(at_ms, end_ms - 1):
                yield heapq.heappop(waiting)[2]
            if at_ms >= end_ms:
                break
            events = [self._job(int(at_ms))] if chance.random() * (visits + jobs) < jobs else self._visit(int(at_ms))
            for event in events:
                order += 1
                heapq.heappush(waiting, (event.time_ms, order, event))

    def _arriving(self, made: Iterator[Happening]) -> Iterator[Record]:
        return as_they_arrive(made, self._disorder, self._chance)

    def _visit(self, at_ms: int) -> Iterator[Happening]:
        chance, town = self._chance, self.town
        member = town.pick_member(chance)
        for _ in range(chance.choice((1, 1, 2))):
            field, city = town.pick_field(chance), town.pick_city(chance)
            found = 0 if chance.random() < 0.08 else min(int(3 * chance.paretovariate(0.8)), 180)
            search = self._id("s")
            value = {"id": search, "member": member, "field": field, "city": city, "found": found, "time": iso(at_ms)}
            yield Happening(at_ms, SEARCHES, str(member), value)
            for _ in range(min(found, chance.choice((0, 1, 1, 2, 2, 3, 4)))):
                at_ms += chance.randint(*chance.choice(_STEPS_MS))
                company = self._company_near(field)
                seen = {"id": self._id("v"), "member": member, "company": company, "search": search, "time": iso(at_ms)}
                yield Happening(at_ms, VIEWS, str(member), seen)
            at_ms += chance.randint(*chance.choice(_STEPS_MS))

    def _company_near(self, field: str) -> str:
        """A few draws for one of the right field: what a search would show first."""
        company = self.town.pick_company(self._chance)
        for _ in range(4):
            if self.town.field_of[company] == field:
                break
            company = self.town.pick_company(self._chance)
        return company

    def _job(self, at_ms: int) -> Happening:
        chance, town = self._chance, self.town
        company = town.pick_company(chance)
        field = town.field_of[company] if chance.random() < 0.8 else town.pick_field(chance)
        city = town.city_of[company] if chance.random() < 0.7 else town.pick_city(chance)
        value = {
            "id": self._id("j"), "company": company, "title": town.pick_title(chance, field), "field": field,
            "city": city, "time": iso(at_ms),
        }  # fmt: skip
        return Happening(at_ms, JOBS, company, value)

    def _id(self, kind: str) -> str:
        self._number += 1
        return f"{kind}-{self._mark}-{self._number}"


def hour_shape(at_ms: float) -> float:
    """How busy the hour is, around 1: a night's low, a peak at eleven and a smaller one at eight in the evening."""
    hour = (at_ms / 3_600_000) % 24

    def hill(top: float, width: float) -> float:
        away = min(abs(hour - top), 24 - abs(hour - top))
        return math.exp(-((away / width) ** 2))

    return 0.25 + 1.55 * hill(11, 4) + 1.05 * hill(20, 2.5)
