"""What an application has: the same order as a dataclass, a pydantic model and a msgspec struct, and types in types."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Annotated
from uuid import UUID

import msgspec
import pydantic


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


@dataclass
class Line:
    item: str
    price: Decimal


@dataclass
class Order:
    id: int
    item: str
    note: str | None = None
    colour: Colour = Colour.RED


class OrderStruct(msgspec.Struct, rename={"item": "itemName"}):
    id: int
    item: str
    note: str | None = None


class OrderModel(pydantic.BaseModel):
    id: int
    item: str = pydantic.Field(alias="itemName")
    note: str | None = None
    price: Decimal = pydantic.Field(default=Decimal("1.50"), max_digits=8, decimal_places=2)


@dataclass
class Everything:
    flag: bool
    number: int
    small: Annotated[int, {"type": "int"}]
    real: float
    text: str
    raw: bytes
    at: datetime
    day: date
    clock: time
    price: Decimal
    unique: UUID
    lines: list[Line]
    tags: set[str]
    counts: dict[str, int]
    size: Size
    first: Line | None
    either: int | str
    sizes: dict[str, list[Size]] = field(default_factory=dict)
    many: tuple[int, ...] = (1, 2)
    when: datetime = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    data: bytes = b"\xff\x00"
    maybe: str | None = "x"


@dataclass
class Tree:
    name: str
    children: list[Tree] = field(default_factory=list)
    parent: Tree | None = None


EVERYTHING = Everything(
    True, -7, 3, 0.5, "ü", b"\x00\xff", datetime(2026, 11, 17, 12, 30, 1, 5, tzinfo=UTC), date(2026, 11, 17),
    time(1, 2, 3, 4), Decimal("19.99"), UUID(int=7), [Line("a", Decimal("1")), Line("b", Decimal("2.5"))],
    {"x"}, {"k": 1}, Size.LARGE, Line("c", Decimal("0")), "seven", {"s": [Size.SMALL]},
)  # fmt: skip
