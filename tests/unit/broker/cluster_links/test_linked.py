"""How far a linked partition is said to be: what its followers have, since a promotion counts on it."""

from types import SimpleNamespace
from typing import Any

from barnabas.broker.cluster_links.linked import Linked


def test_what_followers_do_not_have_yet_does_not_count() -> None:
    opened = SimpleNamespace(high_watermark=7, log=SimpleNamespace(log_end_offset=10))
    partition: Any = SimpleNamespace(opened=opened)
    linked = Linked(partition, bytes(16))
    linked.heard(10)
    assert (linked.end_offset, linked.source_end) == (7, 10)
    assert linked.caught_up_ms > 0  # followers have it in a moment: it is not behind the source
    opened.high_watermark = 10
    linked.heard(10)
    assert linked.end_offset == 10


def test_a_partition_that_was_never_opened_is_empty() -> None:
    partition: Any = SimpleNamespace(opened=None)
    assert Linked(partition, bytes(16)).end_offset == 0
