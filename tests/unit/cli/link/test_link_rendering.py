"""What `link status`, `link promote` and `link verify` say of figures that two nodes of a test never show."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.cli.link.promotion import Promoted
from barnabas.cli.link.reversal import in_words
from barnabas.cli.link.status import _print
from barnabas.cli.link.verifying import Verified
from barnabas.operate.cluster_links import Progress

SETTINGS: dict[str, str | None] = {"bootstrap.servers": "east:9092"}


def partition(topic: str, index: int, here: int, source: int, **more: Any) -> Any:
    known = {
        "topic": topic, "partition_index": index, "end_offset": here, "source_end_offset": source,
        "bytes_fetched": here * 100, "caught_up_ms": -1, "records_skipped": 0, "error_message": None,
    }  # fmt: skip
    return SimpleNamespace(**known | more)


def shown(found: Progress, before: Progress, capsys: pytest.CaptureFixture[str]) -> list[str]:
    _print(found, before, SETTINGS, "west:9092")
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_how_long_it_will_take_is_told_from_the_rate(capsys: pytest.CaptureFixture[str]) -> None:
    before = Progress("east", partitions=[partition("orders", 0, 400, 1000)])
    found = Progress("east", partitions=[partition("orders", 0, 500, 1000, caught_up_ms=(time.time() - 90) * 1000)])
    lines = shown(found, before, capsys)
    assert "behind 500 records, about 48.8 KiB" in lines
    assert "rate 100/s, 9.8 KiB/s" in lines and "done in 5 s" in lines
    assert any(line.startswith("orders 0 500 1,000 500 1 min 3") for line in lines)
    assert "done in not moving" in shown(found, found, capsys)


def test_a_partition_that_cannot_be_filled_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    found = Progress(
        "east",
        partitions=[
            partition("orders", 0, 0, -1),
            partition("orders", 1, 5, 9, error_message="no leader", records_skipped=2),
        ],
    )
    lines = shown(found, found, capsys)
    assert "orders 0 0 ? ? ? begins" in lines
    assert "orders 1 5 9 4 ? no leader, 2 records deleted at the source before they came" in lines
    assert not found.is_well


def test_many_partitions_are_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    found = Progress("east", partitions=[partition("t", index, 1, 1) for index in range(45)])
    found.promoted = [f"done-{number}" for number in range(12)]
    lines = shown(found, found, capsys)
    assert lines[-1] == "... and 5 more partitions: --json has all"
    assert any(line.startswith("promoted 12 topics: done-0, ") and line.endswith("and 2 more") for line in lines)


def test_what_a_promotion_left_behind_is_told_by_partition(capsys: pytest.CaptureFixture[str]) -> None:
    done = Promoted("east", ["orders"], {("orders", 0): 0, ("orders", 1): 7, ("orders", 2): None})
    done.show()
    assert capsys.readouterr().out.splitlines() == [
        "east: 1 topic promoted: orders",
        "  orders-1: 7 records had not come over",
        "  of 1 partition the source was not heard: what is missing is not known",
    ]
    assert done.as_json() == {
        "link": "east",
        "topics": ["orders"],
        "missing": [
            {"topic": "orders", "partition": 1, "records": 7},
            {"topic": "orders", "partition": 2, "records": None},
        ],
    }


def test_differences_are_listed_and_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    found = Verified("east", topics=1, partitions=25, batches=1, bytes=2048, groups=1)
    found.differences = [f"t-{number}: another batch" for number in range(23)]
    found.show()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "east: 23 differences in 1 topic, 25 partitions, 1 batch, 2 KiB, 1 group"
    assert lines[1] == "  t-0: another batch" and lines[-1] == "  ... and 3 more: --json has all"


def test_groups_that_were_set_back_are_named() -> None:
    result = in_words({"link": "east", "bootstrap": "e:1", "topics": ["a"], "groups_set_back": ["billing"]})
    assert result == (
        "east: e:1 follows this cluster now, 1 topic; groups set back there to the last common record: billing"
    )
