"""Quotas are told as they were written."""

from __future__ import annotations

import pytest

from barnabas.cli.quota.words import shown
from barnabas.operate.access.quotas import amount


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("1MB/s", "1 MB/s"),
        ("2mb", "2 MB/s"),
        ("1.5MB/s", "1.5 MB/s"),
        ("512KiB/s", "512 KiB/s"),
        ("1.5MiB/s", "1.5 MiB/s"),
        ("10485760", "10 MiB/s"),
        ("250000", "250 KB/s"),
        ("1GB/s", "1 GB/s"),
        ("999", "999 B/s"),
        ("1234567", "1234567 B/s"),
    ],
)
def test_byte_rates(written: str, told: str) -> None:
    value = amount("producer_byte_rate", written)
    assert shown("producer_byte_rate", value) == told
    assert amount("producer_byte_rate", told) == value


def test_what_is_used_has_the_unit_of_the_quota() -> None:
    assert shown("consumer_byte_rate", 1_234_567.8, of=1_000_000.0) == "1.2 MB/s"
    assert shown("consumer_byte_rate", 1_234_567.8, of=2.0**20) == "1.2 MiB/s"
    assert shown("request_percentage", 50.0, of=10.0) == "50%"
