"""What a day of activity comes to: the figures of the report, whether Spark or plain Python worked them out."""

from __future__ import annotations

from dataclasses import dataclass, field

TOP = 10
LENGTHS_S = (10, 30, 60, 300, 1800)  # bounds of the classes of a session's length
FUNNEL = ("searches", "found something", "looked at a company", "looked at three or more")


@dataclass(frozen=True, slots=True)
class Hour:
    begin_ms: int
    searches: int
    views: int
    jobs: int
    members: int  # who did anything in it


@dataclass(frozen=True, slots=True)
class Company:
    name: str
    views: int
    viewers: int
    jobs: int


@dataclass(frozen=True, slots=True)
class Field:
    """Demand beside supply: what is searched, and what is offered."""

    name: str
    searches: int
    jobs: int
    by_hour: tuple[int, ...] = ()  # searches in each hour of the day, UTC


@dataclass(frozen=True, slots=True)
class Sessions:
    count: int = 0
    events: int = 0
    total_s: int = 0
    median_s: float = 0.0
    lengths: tuple[int, ...] = (0,) * (len(LENGTHS_S) + 1)


@dataclass(frozen=True, slots=True)
class Tip:
    """A job, and how many members it was recommended to."""

    job: str
    title: str
    company: str
    city: str
    members: int


@dataclass(frozen=True, slots=True)
class Insights:
    begin_ms: int
    end_ms: int
    searches: int
    views: int
    jobs: int
    members: int
    recommendations: int
    helped: int  # searches that got at least one
    hours: tuple[Hour, ...] = ()
    companies: tuple[Company, ...] = ()
    places: tuple[tuple[str, str, int], ...] = ()  # field, city, searches
    funnel: tuple[int, ...] = ()
    fields: tuple[Field, ...] = ()
    sessions: Sessions = field(default_factory=Sessions)
    tips: tuple[Tip, ...] = ()
