"""A small stock market: quotes that wander, trades that hit them, and reports that come late.

Each symbol's middle price takes a random walk in whole cents; a quote is a bid and an ask around it. A trade happens at
one side of the quote of that moment, sometimes in between. Some trades are reported late, as those made away from the
exchange are: they change a bar that was told already.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from barnabas.pipelines.common.disorder import Disorder, Happening, as_they_arrive, iso
from barnabas.pipelines.framework.records import Record

TRADES, QUOTES = "trades", "quotes"
DISORDER = Disorder(network_ms=30, late=0.02, late_ms=28_000, too_late=0.002, too_late_ms=90_000, twice=0.01)

_TRADE_SHARE = 0.3
_SIZES = (10, 50, 100, 100, 100, 200, 300, 500, 1000)


@dataclass(slots=True)
class Book:
    """One symbol: its middle and half its spread in cents, and the number of its last quote."""

    symbol: str
    middle: int
    half: int
    weight: float
    number: int = 0
    bid: int = 0
    ask: int = 0


def books() -> list[Book]:
    return [
        Book("ACME", 18_732, 1, 5),
        Book("BRIO", 4_215, 1, 3),
        Book("CIRO", 91_040, 6, 2),
        Book("DUNE", 2_507, 1, 2),
        Book("ELMO", 33_190, 3, 1),
    ]


def generate(seed: int, begin_ms: int, rate: float, disorder: Disorder = DISORDER) -> Iterator[Record]:
    return as_they_arrive(_happenings(seed, begin_ms, rate), disorder, Random(f"{seed} arrivals"))


def _happenings(seed: int, begin_ms: int, rate: float) -> Iterator[Happening]:
    chance = Random(seed)
    market = books()
    weights = [book.weight for book in market]
    now, count = float(begin_ms), 0
    while True:
        now += chance.expovariate(rate) * 1000
        book = chance.choices(market, weights)[0]
        if book.number and chance.random() < _TRADE_SHARE:
            count += 1
            yield _trade(book, f"{seed:x}-{count:07x}", int(now), chance)
        else:
            yield _quote(book, int(now), chance)


def _quote(book: Book, now_ms: int, chance: Random) -> Happening:
    book.middle = max(100, book.middle + chance.choices((-2, -1, 0, 1, 2), (1, 3, 4, 3, 1))[0])
    half = book.half + (chance.random() < 0.1)
    book.bid, book.ask, book.number = book.middle - half, book.middle + half, book.number + 1
    value = {
        "symbol": book.symbol,
        "seq": book.number,
        "time": iso(now_ms),
        "bid": book.bid / 100,
        "ask": book.ask / 100,
        "bid_size": chance.choice(_SIZES),
        "ask_size": chance.choice(_SIZES),
    }
    return Happening(now_ms, QUOTES, book.symbol, value)


def _trade(book: Book, number: str, now_ms: int, chance: Random) -> Happening:
    price = chance.choices((book.bid, book.ask, book.middle), (45, 45, 10))[0]
    value = {
        "id": number,
        "symbol": book.symbol,
        "time": iso(now_ms),
        "price": price / 100,
        "size": chance.choice(_SIZES),
    }
    return Happening(now_ms, TRADES, book.symbol, value)
