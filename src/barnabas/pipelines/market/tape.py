"""One symbol's recent trades and quotes, and what new ones change.

A trade is told at once with the quote that is known to have held at its moment. When a late quote shows that another
one held, the trade is told again; the newest telling holds. So the answer is there at once and right in the end.

What can still change is kept: trades and quotes no older than another report may still come, behind the slower of the
two streams (Spark may read one topic ahead of the other), and of the quotes before that the last one.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from barnabas.pipelines.common.lateness import SKEW_MS
from barnabas.pipelines.market.answer import Quoted, Trade
from barnabas.pipelines.market.schema import ALLOWED_MS

BEHIND_MS = ALLOWED_MS + SKEW_MS + 30_000
HOLD_MS = 300_000  # how far one stream may be ahead of the other before state is let go all the same

Quote = tuple[int, int, int, int]  # time, seq, bid, ask: in the order in which the newest is chosen


@dataclass(slots=True)
class Tape:
    quotes: list[Quote] = field(default_factory=list)
    trades: dict[str, tuple[Trade, Quote | None]] = field(default_factory=dict)
    newest_trade_ms: int = 0
    newest_quote_ms: int = 0

    def text(self) -> str:
        trades = [[each.time_ms, each.id, each.price, each.size, quote] for each, quote in self.trades.values()]
        return json.dumps([self.quotes, trades, self.newest_trade_ms, self.newest_quote_ms], separators=(",", ":"))

    @classmethod
    def of(cls, symbol: str, text: str | None) -> Tape:
        if text is None:
            return cls()
        quotes, trades, trade_ms, quote_ms = json.loads(text)
        held: dict[str, tuple[Trade, Quote | None]] = {}
        for time_ms, name, price, size, quote in trades:
            held[name] = Trade(symbol, time_ms, name, price, size), _quote(quote) if quote is not None else None
        return cls([_quote(each) for each in quotes], held, trade_ms, quote_ms)


def told(tape: Tape, trades: Iterable[Trade], quotes: Iterable[Quote]) -> list[Quoted]:
    """Take in what is new, in any order; say every trade that is new or has another quote than was said."""
    tape.quotes = sorted({*tape.quotes, *quotes})
    fresh: set[str] = set()
    for trade in trades:
        if trade.id not in tape.trades:
            tape.trades[trade.id] = trade, None
            fresh.add(trade.id)
    changed = []
    for name, (trade, before) in sorted(tape.trades.items(), key=lambda item: item[1][0]):
        place = bisect_right(tape.quotes, trade.time_ms, key=lambda quote: quote[0])
        quote = tape.quotes[place - 1] if place else None
        if name in fresh or quote != before:
            tape.trades[name] = trade, quote
            shown = (quote[2], quote[3], quote[0], quote[1]) if quote is not None else None
            changed.append(Quoted(trade, shown))
    _forget(tape)
    return changed


def _forget(tape: Tape) -> None:
    times = [tape.newest_trade_ms, *(trade.time_ms for trade, _ in tape.trades.values())]
    tape.newest_trade_ms = max(times)
    tape.newest_quote_ms = max(tape.newest_quote_ms, tape.quotes[-1][0] if tape.quotes else 0)
    slower, faster = sorted((tape.newest_trade_ms, tape.newest_quote_ms))
    settled = max(slower, faster - HOLD_MS) - BEHIND_MS
    tape.trades = {name: held for name, held in tape.trades.items() if held[0].time_ms >= settled}
    place = bisect_right(tape.quotes, settled, key=lambda quote: quote[0])
    tape.quotes = tape.quotes[max(0, place - 1) :]


def _quote(parts: list[int]) -> Quote:
    time_ms, seq, bid, ask = parts
    return time_ms, seq, bid, ask
