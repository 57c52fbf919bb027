"""What the commands ask a cluster about zones: the settings of topics that say what a write needs and where leaders
should be, and where a controller stands that is no broker.

Only clusters whose nodes name a zone (`broker.rack`) are asked; a node that may not be asked, or does not know a
setting (Apache Kafka), is taken to have the default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from barnabas.cli.common import human
from barnabas.cli.common.failure import Failure
from barnabas.cli.common.screen import Column, paint, say, table
from barnabas.operate.zones import Loss, Needs, Zone
from barnabas.wire.apis import DESCRIBE_CONFIGS

if TYPE_CHECKING:
    from barnabas.cli.common.cluster import Cluster
    from barnabas.operate.placement.nouns import Broker, Partition
    from barnabas.wire.messages import DescribeConfigsResponse

MIN_ISR, MIN_ZONES, PREFERRED = "min.insync.replicas", "min.insync.zones", "leader.preferred.racks"
_TOPIC, _BROKER = 2, 4  # Kafka's numbers in requests about settings
_TOPICS_AT_ONCE = 500


def topic_settings(cluster: Cluster, brokers: Iterable[Broker], partitions: Iterable[Partition]) -> TopicSettings:
    """Of all topics, where zones matter; none where no node names one."""
    found: dict[str, dict[str, str]] = {}
    if any(each.rack for each in brokers):
        names = iter(dict.fromkeys(each.topic for each in partitions))
        while some := list(islice(names, _TOPICS_AT_ONCE)):
            asked = [
                {"resource_type": _TOPIC, "resource_name": each, "configuration_keys": [MIN_ISR, MIN_ZONES, PREFERRED]}
                for each in some
            ]
            answer: DescribeConfigsResponse = cluster.ask_any(DESCRIBE_CONFIGS, {"resources": asked})
            for result in answer.results:
                found[result.resource_name] = {each.name: each.value or "" for each in result.configs or ()}
    return TopicSettings(found)


class TopicSettings:
    def __init__(self, found: Mapping[str, Mapping[str, str]]) -> None:
        self._found = found

    def needs(self) -> dict[str, Needs]:
        return {
            topic: Needs(int(values.get(MIN_ISR) or 1), int(values.get(MIN_ZONES) or 1))
            for topic, values in self._found.items()
        }

    def preferred(self) -> dict[str, list[str]]:
        """The zones for leaders, of the topics that have some."""
        return {
            topic: [each.strip() for each in values[PREFERRED].split(",")]
            for topic, values in self._found.items()
            if values.get(PREFERRED)
        }


def zone_of_controller(cluster: Cluster, node: int, address: tuple[str, int]) -> str | None:
    """As it says itself: no request about the cluster has the zone of a controller that is no broker."""
    wanted = {"resource_type": _BROKER, "resource_name": str(node), "configuration_keys": ["broker.rack"]}
    try:
        answer: DescribeConfigsResponse = cluster.ask_at(address, DESCRIBE_CONFIGS, {"resources": [wanted]})
    except Failure:  # its listener may be for the quorum only, or want another login
        return None
    return next((each.value or None for result in answer.results for each in result.configs or ()), None)


def show(zones: Sequence[Zone]) -> None:
    """A table with a line for each zone: what it holds, and "what if" it is lost."""
    if not zones:
        return
    say()
    columns = (
        Column("zone", style="bold"), Column("nodes"), Column("up", True), Column("voters", True),
        Column("leads", True), Column("replicas", True), Column("if it is lost", flexible=True),
    )  # fmt: skip
    table(
        columns,
        (
            [each.name, ",".join(map(str, each.nodes)), str(each.up), str(each.voters), human.count(each.leads),
             human.count(each.replicas), told_loss(each.if_lost)]
            for each in zones
        ),
    )  # fmt: skip
    for each in zones:
        if each.if_lost.partitions:
            more = each.if_lost.without_leader + each.if_lost.refuses_writes - len(each.if_lost.partitions)
            listed = ", ".join(each.if_lost.partitions) + (f" and {more} more" if more > 0 else "")
            say(paint(f"  without {each.name}: {listed}", "dim"))


def told_loss(loss: Loss) -> str:
    return ", ".join(_costs(loss)) or "all is served"


def _costs(loss: Loss) -> Iterator[str]:
    if not loss.quorum_kept:
        yield "the quorum is lost: nothing fails over"
    if loss.without_data:
        yield f"{human.plural(loss.without_data, 'partition')} without any replica"
    if loss.without_leader > loss.without_data:
        yield f"{human.plural(loss.without_leader - loss.without_data, 'partition')} without a leader"
    if loss.refuses_writes:
        yield f"{human.plural(loss.refuses_writes, 'partition')} read-only"
