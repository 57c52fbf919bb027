"""A link as several nodes tell it."""

from types import SimpleNamespace

from barnabas.operate.cluster_links import Progress, rates, seconds_behind


def _partition(index: int, end: int, source_end: int, fetched: int = 0, caught_up_ms: int = -1) -> SimpleNamespace:
    return SimpleNamespace(
        topic="orders",
        partition_index=index,
        end_offset=end,
        source_end_offset=source_end,
        bytes_fetched=fetched,
        caught_up_ms=caught_up_ms,
        error_message=None,
    )


def _told(
    *partitions: SimpleNamespace, error: str | None = None, since: int = -1, synced: int = -1, users: int = -1
) -> SimpleNamespace:
    return SimpleNamespace(
        error_message=error,
        sync_error_message=None,
        unreached_ms=since,
        promoted_topics=["gone"],
        users=users,
        own_users=["admin"] if users >= 0 else [],
        synced_ms=synced,
        partitions=list(partitions),
    )


def _progress(*told: SimpleNamespace) -> Progress:
    found = Progress("east")
    for each in told:
        found.add(each)  # type: ignore[arg-type]
    return found


def test_nodes_together_are_the_link() -> None:
    found = _progress(
        _told(_partition(1, 5, 9), synced=100, users=4),
        _told(_partition(0, 3, 3), error="refused", since=70),
        _told(error="refused", since=50),
    )
    assert [p.partition_index for p in found.partitions] == [0, 1]
    assert (found.topics, found.total_lag, found.synced_ms) == (["orders"], 4, 100)
    assert found.errors == ["refused"] and not found.is_well
    assert found.unreached_ms == {("orders", 0): 70}  # by the leader of each: the other one reaches it
    assert found.unreached_since_ms == 50 and _progress(_told()).unreached_since_ms == -1
    assert found.promoted == ["gone"]
    assert (found.users, found.own_users) == (4, ["admin"])  # as the one node tells that brings them over
    assert _progress(_told()).users == -1


def test_rates_and_seconds() -> None:
    before, after = _progress(_told(_partition(0, 3, 9, 100))), _progress(_told(_partition(0, 7, 9, 300)))
    assert rates(after, before, 2.0) == (2.0, 100.0)
    assert seconds_behind(after.partitions[0], 0) is None
    late, even = _partition(0, 7, 9, caught_up_ms=1000), _partition(0, 9, 9)
    assert seconds_behind(late, 3500) == 2.5  # type: ignore[arg-type]
    assert seconds_behind(even, 3500) == 0.0  # type: ignore[arg-type]
