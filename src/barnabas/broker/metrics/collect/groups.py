"""The groups and transactions that this node coordinates, so that a sum over nodes counts each once."""

from collections.abc import Iterator

from barnabas.broker.coordinator.groups import GroupDriver
from barnabas.broker.coordinator.transactions import TxnDriver
from barnabas.broker.metrics.exposition import Sample, escaped, family, head, labels, single
from barnabas.broker.metrics.lag import GroupLags, Position
from barnabas.model.limits import METRICS_GROUPS_MAX

_AT_ONCE = 50  # groups between two looks at the clock
_PARTITIONS_AT_ONCE = 200


def collect(groups: GroupDriver, lags: GroupLags, now_ms: int, *, every: bool) -> Iterator[str]:
    """`every`: with the series of partitions."""
    members: list[Sample] = []
    offsets: list[Sample] = []
    lag_sums: list[Sample] = []
    seconds: list[Sample] = []
    each: list[tuple[str, Position, int | None]] = []
    shown = left_out = 0
    for shard in groups.loaded():
        world = shard.machine
        for number, group in enumerate(sorted({*world.groups, *world.offsets.group_ids()})):
            if not number % _AT_ONCE:
                yield ""
            if shown >= METRICS_GROUPS_MAX:
                left_out += 1
                continue
            shown += 1
            known = world.groups.get(group)
            members.append((labels(consumergroup=group), 0 if known is None else len(known.members)))
            by_topic: dict[str, list[Position]] = {}
            for topic, index, committed in world.offsets.of_group(group):
                by_topic.setdefault(topic, []).append(Position(topic, index, committed.offset))
            for topic, positions in by_topic.items():
                text = labels(consumergroup=group, topic=topic)
                offsets.append((text, sum(position.offset for position in positions)))
                found = [lags.lag(position) for position in positions]
                if None not in found:
                    lag_sums.append((text, sum(lag or 0 for lag in found)))
                if (age := lags.oldest_seconds(positions, now_ms)) is not None:
                    seconds.append((text, age))
                if every:
                    start = f'{{consumergroup="{escaped(group)}",topic="{escaped(topic)}",partition="'
                    each += [(f'{start}{p.number}"}} ', p, lag) for p, lag in zip(positions, found, strict=True)]
                yield ""
    yield family("kafka_consumergroup_members", members)
    yield family("kafka_consumergroup_current_offset_sum", offsets)
    yield family("kafka_consumergroup_lag_sum", lag_sums)
    yield family("kafka_consumergroup_lag_seconds", seconds)
    yield single("barnabas_groups_summed", left_out)
    if each:
        yield from _partitions(each)


def _partitions(each: list[tuple[str, Position, int | None]]) -> Iterator[str]:
    name = "kafka_consumergroup_current_offset"
    yield head(name)
    for at in range(0, len(each), _PARTITIONS_AT_ONCE):
        part = each[at : at + _PARTITIONS_AT_ONCE]
        yield "".join([f"{name}{text}{position.offset}\n" for text, position, _ in part])
    name = "kafka_consumergroup_lag"
    yield head(name)
    for at in range(0, len(each), _PARTITIONS_AT_ONCE):
        part = each[at : at + _PARTITIONS_AT_ONCE]
        yield "".join([f"{name}{text}{lag}\n" for text, _, lag in part if lag is not None])


def transactions(driver: TxnDriver, now_ms: int) -> Iterator[str]:
    """`now_ms`: wall time, which a transaction's start is written in."""
    count, oldest_ms = 0, now_ms
    for shard in driver.loaded():
        for number, transaction in enumerate(list(shard.machine.transactions.values())):
            if not number % _PARTITIONS_AT_ONCE:
                yield ""
            if not transaction.state.is_idle:
                count += 1
                if transaction.start_ms > 0:
                    oldest_ms = min(oldest_ms, transaction.start_ms)
    yield single("barnabas_transactions_open", count)
    yield single("barnabas_transaction_oldest_seconds", max(now_ms - oldest_ms, 0) / 1000)
