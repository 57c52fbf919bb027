"""The market pipeline without Spark: the tape of one symbol, also in a TwsTester, and the plain answers."""

from decimal import Decimal
from itertools import islice
from random import Random

import pytest

from barnabas.pipelines.common.disorder import iso, millis
from barnabas.pipelines.common.lateness import counts
from barnabas.pipelines.framework.records import Record
from barnabas.pipelines.market import answer, generator
from barnabas.pipelines.market.answer import Quoted, Trade, ticks
from barnabas.pipelines.market.later import Comparison, report
from barnabas.pipelines.market.schema import ALLOWED_MS
from barnabas.pipelines.market.tape import BEHIND_MS, HOLD_MS, Tape, told

BEGIN = 1_790_000_040_000  # a whole minute


def trade(number: int, at_ms: int, price: int = 100) -> Trade:
    return Trade("ACME", BEGIN + at_ms, f"t{number}", price, 10)


def quote(seq: int, at_ms: int) -> tuple[int, int, int, int]:
    return BEGIN + at_ms, seq, 99 + seq, 101 + seq


def sent(topic: str, at_ms: int, late_ms: int = 0, **value: object) -> Record:
    return Record(topic, "ACME", {"symbol": "ACME", "time": iso(BEGIN + at_ms), **value}, BEGIN + at_ms + late_ms)


def seqs(found: list[Quoted]) -> list[tuple[str, int | None]]:
    return [(each.trade.id, each.quote[3] if each.quote else None) for each in found]


def test_a_trade_has_the_last_quote_that_is_not_newer() -> None:
    tape = Tape()
    assert seqs(told(tape, [trade(1, 999), trade(2, 1000), trade(3, 1001)], [quote(1, 1000)])) == [
        ("t1", None),
        ("t2", 1),
        ("t3", 1),
    ]


def test_a_late_quote_changes_only_the_trades_it_held_for() -> None:
    tape = Tape()
    told(tape, [trade(1, 1500), trade(2, 2500), trade(3, 3500)], [quote(1, 1000), quote(3, 3000)])
    assert seqs(told(tape, [], [quote(2, 2000)])) == [("t2", 2)]
    assert told(tape, [], [quote(2, 2000)]) == []


def test_of_two_quotes_in_one_millisecond_the_later_number_holds() -> None:
    assert seqs(told(Tape(), [trade(1, 1000)], [quote(8, 1000), quote(7, 1000)])) == [("t1", 8)]


def test_a_trade_told_twice_is_said_once() -> None:
    tape = Tape()
    assert len(told(tape, [trade(1, 1000), trade(1, 1000)], [quote(1, 500)])) == 1
    assert told(tape, [trade(1, 1000)], []) == []


def test_trades_read_ahead_of_the_quotes_are_mended_later() -> None:
    tape = Tape()
    told(tape, [trade(number, number * 1000) for number in range(200)], [])
    found = told(tape, [], [quote(number, number * 1000) for number in range(200)])
    assert seqs(found) == [(f"t{number}", number) for number in range(200)]


def test_what_is_remembered_does_not_grow() -> None:
    tape = Tape()
    for minute in range(30):
        moments = range(minute * 60_000, (minute + 1) * 60_000, 500)
        told(tape, [trade(at, at + 100) for at in moments], [quote(at, at) for at in moments])
    assert len(tape.quotes) <= BEHIND_MS // 500 + 2 and len(tape.trades) <= BEHIND_MS // 500 + 2
    for minute in range(30, 60):  # the quotes have stopped
        told(tape, [trade(at, at) for at in range(minute * 60_000, (minute + 1) * 60_000, 500)], [])
    assert len(tape.trades) <= (HOLD_MS + BEHIND_MS) // 500 + 2


def test_any_cut_into_batches_gives_the_plain_answer() -> None:
    records = list(islice(generator.generate(5, BEGIN, 50), 5000))
    want = answer.quoted(records)
    got: dict[str, Quoted] = {}
    tapes: dict[str, Tape] = {}
    chance = Random(2)
    place, tellings = 0, 0
    while place < len(records):
        size = chance.randint(1, 150)
        trades: dict[str, list[Trade]] = {}
        quotes: dict[str, list[tuple[int, int, int, int]]] = {}
        for record in records[place : place + size]:
            value, time_ms = record.value, millis(record.value["time"])
            if not counts(time_ms, record.time_ms, ALLOWED_MS):
                continue
            symbol = value["symbol"]
            if record.topic == generator.TRADES:
                held = Trade(symbol, time_ms, value["id"], ticks(value["price"]), value["size"])
                trades.setdefault(symbol, []).append(held)
            else:
                bid_ask = ticks(value["bid"]), ticks(value["ask"])
                quotes.setdefault(symbol, []).append((time_ms, value["seq"], *bid_ask))
        for symbol in {*trades, *quotes}:
            tape = Tape.of(symbol, tapes[symbol].text() if symbol in tapes else None)
            for each in told(tape, trades.get(symbol, []), quotes.get(symbol, [])):
                got[each.trade.id] = each
                tellings += 1
            tapes[symbol] = tape
        place += size
    assert sorted(got.values(), key=lambda each: each.trade) == want
    assert tellings > len(want)  # some were told again


def test_the_processor_keeps_its_tape_in_spark_state() -> None:
    pytest.importorskip("pyspark")
    from pyspark.sql import Row
    from pyspark.sql.streaming.tws_tester import TwsTester

    from barnabas.pipelines.market.asof import Join

    def row(at_ms: int, name: str | None, seq: int | None, first: int, second: int) -> Row:
        return Row(time_ms=BEGIN + at_ms, id=name, seq=seq, first=first, second=second)

    tester = TwsTester(Join())
    [first] = tester.test("ACME", [row(2000, "t1", None, 100, 10), row(1000, None, 1, 99, 101)])
    assert (first["id"], first["price"], first["size"], first["bid"], first["quote_seq"]) == ("t1", 100, 10, 99, 1)
    [again] = tester.test("ACME", [row(1500, None, 2, 98, 102)])
    assert (again["id"], again["bid"], again["quote_seq"]) == ("t1", 98, 2)
    [other] = tester.test("BRIO", [row(2000, "t2", None, 100, 10)])
    assert (other["symbol"], other["bid"]) == ("BRIO", None)


def test_a_bar_by_hand() -> None:
    records = [
        sent("trades", 30_000, id="b", price=10.5, size=100),
        sent("trades", 59_999, late_ms=20_000, id="d", price=10.25, size=300),  # late: it is the close all the same
        sent("trades", 100, id="a", price=10.0, size=100),
        sent("trades", 40_000, id="c", price=9.75, size=500),
        sent("trades", 40_000, id="c", price=9.75, size=500, late_ms=5),
        sent("trades", 50_000, late_ms=ALLOWED_MS + 1, id="x", price=99.0, size=1),
        sent("trades", 60_000, id="e", price=11.0, size=1),
    ]
    first, second = answer.bars(records)
    prices = [Decimal(text) for text in ("10", "10.5", "9.75", "10.25")]
    assert [first.open, first.high, first.low, first.close] == prices
    assert (first.volume, first.trades, first.vwap) == (1000, 4, (1000 + 1050 + 4875 + 3075) / 1000)
    assert (second.begin_ms, second.trades) == (BEGIN + 60_000, 1)


def test_the_generator_repeats_itself_and_trades_at_its_quotes() -> None:
    first, second = (list(islice(generator.generate(3, BEGIN, 50), 4000)) for _ in range(2))
    assert first == second
    found = answer.quoted(first)
    at_the_quote = sum(each.quote is not None and each.quote[0] <= each.trade.price <= each.quote[1] for each in found)
    assert at_the_quote / len(found) > 0.95


def test_nothing_compared_is_not_called_agreement() -> None:
    nothing = Comparison("bars", 0, 0, 0, 0, 4, ())
    assert nothing.line().startswith("bars: nothing to compare yet, 4 still open") and "3 minutes" in nothing.line()
    assert "nothing to compare yet" in report([nothing])
    assert Comparison("bars", 2, 0, 0, 0, 0, ()).line().startswith("bars: all agree: 2 equal")
    assert "DO NOT AGREE" in Comparison("bars", 0, 1, 0, 0, 0, ()).line()
