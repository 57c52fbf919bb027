"""Translated offsets: never beyond what was read, and too low by no more than is said."""

from __future__ import annotations

import random
from bisect import bisect_left

from barnabas.connect.connectors.mirror.offset_map import ANCHORS_MAX, OffsetMap, Run


class Copy:
    """A source and a target, record by record, and the map that is made of the transactions between them."""

    def __init__(self, seed: int, gaps: float, strangers: float) -> None:
        self._random = random.Random(seed)
        self._gaps, self._strangers = gaps, strangers
        self.source, self.target = self._random.randrange(1000), 0
        self.map = OffsetMap.beginning_at(self.source)
        self.pairs: list[tuple[int, int]] = []  # of every record

    def transaction(self, records: int) -> None:
        runs: list[Run] = []
        placed: list[Run] = []
        for _ in range(records):
            while self._random.random() < self._gaps:
                self.source += 1
            while self._random.random() < self._strangers:
                self.target += 1
            for offset, found in ((self.source, runs), (self.target, placed)):
                if found and sum(found[-1]) == offset:
                    found[-1] = (found[-1][0], found[-1][1] + 1)
                else:
                    found.append((offset, 1))
            self.pairs.append((self.source, self.target))
            self.source, self.target = self.source + 1, self.target + 1
        if self._random.random() < self._gaps:
            self.source += 1
        self.map.extend(runs, self.source, placed)
        self.target += 1  # our marker
        self.map = OffsetMap.decoded(self.map.encoded())

    def check(self) -> None:
        sources, targets = [each[0] for each in self.pairs], [each[1] for each in self.pairs]
        for offset in {self._random.randrange(self.source + 3) for _ in range(300)} | {0, self.source}:
            unread = targets[bisect_left(sources, offset) :]
            found = self.map.translate(offset)
            assert not unread or found.offset <= unread[0], "a record would be missed"
            again = sum(found.offset <= each for each in targets) - len(unread)
            assert again <= found.again_max
        for offset in {self._random.randrange(self.target + 3) for _ in range(300)} | {0, self.target}:
            unread = sources[bisect_left(targets, offset) :]
            back = self.map.back(offset)
            assert not unread or back.offset <= unread[0]
            assert sum(back.offset <= each for each in sources) - len(unread) <= back.again_max


def test_a_group_never_misses_a_record_and_the_bound_holds() -> None:
    for seed in range(40):
        chooses = random.Random(seed)
        copy = Copy(seed, chooses.choice((0, 0, 0.02, 0.5)), chooses.choice((0, 0, 0.02, 0.5)))
        for _ in range(chooses.choice((1, 5, 200))):
            copy.transaction(chooses.randrange(0, 40))
        copy.check()
        assert len(copy.map) <= ANCHORS_MAX


def test_without_gaps_the_newest_are_exact_and_older_ones_nearly() -> None:
    copy = Copy(1, 0, 0)
    for _ in range(5000):
        copy.transaction(20)
    for source, target in copy.pairs[-100:]:
        assert copy.map.translate(source) == (target, 0)
    for back in (1000, 10_000, 90_000):
        found = copy.map.translate(copy.pairs[-back][0])
        transactions = back / 20
        assert copy.pairs[-back][1] - found.offset <= found.again_max <= transactions / 3


def test_a_transaction_of_many_gaps_takes_no_long() -> None:
    """Each record of a compacted topic may stand alone: the map stays small, and so does the work."""
    copy = Copy(3, 0.9, 0)
    copy.transaction(20_000)
    copy.transaction(5)
    copy.check()


def test_a_step_that_leaves_records_out_keeps_the_promise() -> None:
    found = OffsetMap.beginning_at(0)
    found.extend([(0, 10)], 10, [(0, 4)])  # six were left out, nobody knows which
    found.extend([(10, 10)], 20, [(5, 10)])
    assert found.translate(5).offset == 0
    assert found.translate(10) == (5, 0) or found.translate(10).offset <= 5
    assert found.translate(15) == (10, 0)
    assert found.translate(99) == (15, 0)


def test_an_answer_that_does_not_say_where_a_batch_stands() -> None:
    found = OffsetMap.beginning_at(0)
    found.extend([(0, 10)], 10, [(-1, 10)])
    found.extend([(10, 10)], 20, [(11, 10)])
    assert found.translate(4).offset <= 4
    assert found.translate(12) == (13, 0)
