"""The right answer in plain Python: the bars of each symbol, and each trade with the quote that held at its moment."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from barnabas.pipelines.common.disorder import millis
from barnabas.pipelines.common.lateness import counts
from barnabas.pipelines.framework.records import Record
from barnabas.pipelines.market.generator import QUOTES, TRADES
from barnabas.pipelines.market.schema import ALLOWED_MS, BAR_MS, TICKS


@dataclass(frozen=True, slots=True, order=True)
class Bar:
    """One symbol in one minute: the first, highest, lowest and last price, and the average price by volume."""

    symbol: str
    begin_ms: int
    open: Decimal
    high: Decimal
    low: Decimal
    close: Decimal
    volume: int
    trades: int
    vwap: float


@dataclass(frozen=True, slots=True, order=True)
class Trade:
    """Prices in ten-thousandths. Ordered by symbol and time, then by id."""

    symbol: str
    time_ms: int
    id: str
    price: int
    size: int


@dataclass(frozen=True, slots=True)
class Quoted:
    """A trade, and bid, ask, time and number of the newest quote that is not newer than it (None: there was none)."""

    trade: Trade
    quote: tuple[int, int, int, int] | None


def ticks(price: float | Decimal) -> int:
    return int(Decimal(str(price)) * TICKS)


def price_of(in_ticks: int) -> Decimal:
    return Decimal(in_ticks) / TICKS


def trades_of(records: Iterable[Record]) -> list[Trade]:
    """The trades that count, each once, in order."""
    found: dict[str, Trade] = {}
    for record in records:
        value = record.value
        if record.topic == TRADES and counts(millis(value["time"]), record.time_ms, ALLOWED_MS):
            trade = Trade(value["symbol"], millis(value["time"]), value["id"], ticks(value["price"]), value["size"])
            found.setdefault(trade.id, trade)
    return sorted(found.values())


def bars(records: Iterable[Record], bar_ms: int = BAR_MS) -> list[Bar]:
    groups: dict[tuple[str, int], list[Trade]] = defaultdict(list)
    for trade in trades_of(records):
        groups[trade.symbol, trade.time_ms - trade.time_ms % bar_ms].append(trade)
    return [_bar(*key, held) for key, held in sorted(groups.items())]


def quoted(records: Iterable[Record]) -> list[Quoted]:
    """Every trade with its quote, in the order of the trades."""
    records = list(records)
    quotes: dict[str, set[tuple[int, int, int, int]]] = defaultdict(set)
    for record in records:
        value = record.value
        if record.topic == QUOTES and counts(millis(value["time"]), record.time_ms, ALLOWED_MS):
            quote = millis(value["time"]), value["seq"], ticks(value["bid"]), ticks(value["ask"])
            quotes[value["symbol"]].add(quote)
    ordered = {symbol: sorted(held) for symbol, held in quotes.items()}
    found = []
    for trade in trades_of(records):
        held = ordered.get(trade.symbol, [])
        place = bisect_right(held, trade.time_ms, key=lambda quote: quote[0])
        time_ms, seq, bid, ask = held[place - 1] if place else (0, 0, 0, 0)
        found.append(Quoted(trade, (bid, ask, time_ms, seq) if place else None))
    return found


def _bar(symbol: str, begin_ms: int, held: list[Trade]) -> Bar:
    """`held` is in order."""
    volume = sum(trade.size for trade in held)
    notional = sum(trade.price * trade.size for trade in held)
    return Bar(
        symbol,
        begin_ms,
        price_of(held[0].price),
        price_of(max(trade.price for trade in held)),
        price_of(min(trade.price for trade in held)),
        price_of(held[-1].price),
        volume,
        len(held),
        float(notional) / TICKS / float(volume) if volume else 0.0,
    )
