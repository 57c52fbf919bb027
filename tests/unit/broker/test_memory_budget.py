"""What a node says at its start that clients can make it hold."""

from barnabas.broker.network.memory_budget import memory_budget
from barnabas.broker.settings.sources import load_settings
from barnabas.model import limits


def test_the_sum_is_that_of_all_that_is_bounded() -> None:
    settings = load_settings(flags={"queued.max.request.bytes": str(64 << 20)}, environ={}).settings
    budget = memory_budget(settings, 8 << 30)
    held = (
        2 * (64 << 20)
        + 3 * settings.int("socket.request.max.bytes")
        + (16 << 20)
        + limits.REQUEST_ELEMENTS_MAX * limits.DECODED_ELEMENT_BYTES
        + limits.GROUP_METADATA_NODE_MAX_BYTES
        + limits.NODE_QUEUED_MAX_BYTES
        + 2 * limits.FETCH_SESSION_PARTITIONS_MAX * limits.SESSION_PARTITION_BYTES
        + limits.GROUP_METADATA_NODE_MAX_BYTES
        + limits.PRODUCERS_PER_NODE_MAX * limits.PRODUCER_BYTES
        + 2 * limits.OPENED_AT_ONCE_MAX * limits.DECOMPRESS_MAX_BYTES
    )
    assert budget.total_bytes == held
    told = budget.summary()
    assert f"at most {held >> 20} MiB" in told
    assert told.endswith("256 MiB of groups, 667 MiB of producers, 400 MiB of batches being opened")
