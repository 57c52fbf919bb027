"""What a zone holds, and what its loss would cost."""

from __future__ import annotations

from barnabas.operate.placement.nouns import Broker, Partition
from barnabas.operate.zones import Loss, Needs, sharing_a_zone, zones
from tests.unit.operate.test_plan import ZONES, broker

WITNESS = Broker(9, "", 0, "w", True)


def part(*replicas: int, isr: tuple[int, ...] | None = None, topic: str = "t", index: int = 0) -> Partition:
    return Partition(topic, index, replicas[0], replicas, replicas if isr is None else isr)


def losses(
    partitions: list[Partition], voters: list[int], needs: Needs, brokers: list[Broker] = ZONES
) -> dict[str, Loss]:
    return {each.name: each.if_lost for each in zones(brokers, partitions, voters, {"t": needs})}


def test_three_zones_survive_the_loss_of_any() -> None:
    found = losses([part(1, 3, 5), part(2, 4, 6, index=1)], [1, 3, 5], Needs(2, 2))
    assert all(each == Loss(quorum_kept=True) for each in found.values())


def test_what_stops_is_counted_and_named() -> None:
    partitions = [part(1, 3), part(1, 2, index=1), part(1, 3, 5, isr=(1, 2), index=2), part(3, 5, index=3)]
    found = losses(partitions, [1, 2, 3], Needs(2, 2))
    assert found["a"] == Loss(
        False, without_data=1, without_leader=2, refuses_writes=1, partitions=["t-0", "t-1", "t-2"]
    )
    assert found["c"] == Loss(True, refuses_writes=3, partitions=["t-1", "t-2", "t-3"]), (
        "t-1 has one zone even now, t-2 has one in sync, t-3 would have one replica"
    )


def test_a_witness_keeps_the_quorum_of_two_data_zones() -> None:
    brokers = [broker(1, "a"), broker(2, "b"), WITNESS]
    found = losses([part(1, 2)], [1, 2, 9], Needs(), brokers)
    assert {name: each.quorum_kept for name, each in found.items()} == {"a": True, "b": True, "w": True}
    without = losses([part(1, 2)], [1, 2], Needs(), brokers[:2])
    assert not without["a"].quorum_kept and not without["b"].quorum_kept


def test_a_node_that_is_down_does_not_save_a_zone() -> None:
    brokers = [broker(1, "a"), broker(3, "b", up=False), broker(5, "c")]
    found = losses([part(1, 3, 5, isr=(1, 5))], [1, 3, 5], Needs(), brokers)
    assert not found["a"].quorum_kept and found["b"].quorum_kept
    assert (found["b"].without_leader, found["a"].without_leader) == (0, 0)


def test_a_zone_is_described() -> None:
    brokers = [broker(1, "a"), broker(2, "a", up=False), broker(3)]
    brokers[0].leads, brokers[0].replicas, brokers[1].replicas = 3, 4, 5
    (zone,) = zones(brokers, [], [1, 3], {})
    assert (zone.name, zone.nodes, zone.up, zone.voters, zone.leads, zone.replicas) == ("a", [1, 2], 1, 1, 3, 9)
    assert zones([broker(1), broker(2)], [], [1], {}) == [], "nobody names a zone"


def test_replicas_that_share_a_zone_though_they_need_not() -> None:
    fine = [part(1, 3, 5), part(1, 3), part(1), part(1, 2, 3, 5, index=3)]
    wrong = [part(1, 2, index=4), part(1, 2, 3, index=5)]
    assert sharing_a_zone(ZONES, [*fine, *wrong]) == wrong
    assert sharing_a_zone(ZONES[:2], wrong[:1]) == [], "there is no other zone"
    down = [*ZONES[:4], broker(5, "c", up=False), broker(6, "c", up=False)]
    assert sharing_a_zone(down, [part(1, 2, 3)]) == [], "the third zone is down"
    assert sharing_a_zone([*ZONES[:2], WITNESS], wrong[:1]) == [], "a witness takes no replicas"
    assert sharing_a_zone([*ZONES, broker(7)], [part(1, 2, 7)]) == [], "where 7 stands is not known"
