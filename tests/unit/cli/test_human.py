"""Numbers for people."""

import pytest

from barnabas.cli.common import human


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.00018, "0.18 ms"),
        (0.0042, "4.2 ms"),
        (0.25, "250 ms"),
        (1, "1 s"),
        (4.12, "4.1 s"),
        (200, "3 min 20 s"),
        (3600, "1 h"),
        (3 * 86_400 + 5 * 3600 + 59, "3 d 5 h"),
        (604_800, "7 d"),
        (-4.5, "-4.5 s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert human.duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (1 << 30, "1 GiB"), (5 << 50, "5120 TiB")],
)
def test_sizes(number: int, text: str) -> None:
    assert human.size(number) == text


@pytest.mark.parametrize(
    ("amount", "seconds", "text"),
    [(0, 0, "0.0/s"), (5, 2, "2.5/s"), (500, 1, "500/s"), (123_456, 1, "123,000/s"), (1_344_279, 1, "1,340,000/s")],
)
def test_rates_have_three_digits(amount: float, seconds: float, text: str) -> None:
    assert human.rate(amount, seconds) == text


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("retention.ms", "604800000", "7 d"),
        ("retention.ms", "-1", "no limit"),
        ("segment.bytes", "1073741824", "1 GiB"),
        ("flush.messages", "9223372036854775807", "no limit"),
        ("log.retention.hours", "168", "7 d"),
        ("offsets.retention.minutes", "10080", "7 d"),
        ("cleanup.policy", "delete", ""),
        ("num.partitions", "3", ""),
        ("retention.ms", None, ""),
    ],
)
def test_what_a_setting_means(name: str, value: str | None, text: str) -> None:
    assert human.setting(name, value) == text


def test_moments_and_plurals() -> None:
    assert human.moment(-1) == "-"
    assert len(human.moment(1_777_630_000_000)) == 23
    assert human.moment(2**62) == str(2**62)
    assert human.plural(1, "record") == "1 record"
    assert human.plural(2_000, "record") == "2,000 records"
