"""What is left of a cluster when one node's folder is: that node leads what it has, and nothing else is led."""

from barnabas.core.cluster.partitions.last_replica import last_replica_records
from tests.unit.cluster.stage import Stage


def test_the_last_node_leads_what_it_has_whoever_was_in_sync() -> None:
    stage = Stage(3)
    stage.create("all", 3, 3, min_insync_replicas="2")
    stage.create("one", 3, 1)
    stage.fence(1)  # it was down when the others were lost, so it is in sync nowhere, and not eligible either
    stage.fence(2)  # eligible on the lost nodes only
    before = [stage.partition("all", index) for index in range(3)]
    assert all(1 not in each.isr for each in before)
    stage.write(last_replica_records(stage.image, 1))
    for index, old in enumerate(before):
        new = stage.partition("all", index)
        assert (new.leader, new.isr, new.elr, new.last_known_elr) == (1, (1,), (), ())
        assert new.replicas == old.replicas and new.leader_epoch == old.leader_epoch + 1
    assert [broker.broker_id for broker in stage.image.live_brokers()] == []
    ones = [stage.partition("one", index) for index in range(3)]
    assert sorted(each.leader for each in ones) == [-1, -1, 1]


def test_it_leads_again_when_it_registers_and_an_empty_disk_does_not() -> None:
    stage = Stage(3)
    stage.create("all", 1, 3)
    stage.create("one", 3, 1)
    stage.write(last_replica_records(stage.image, 1))
    stage.register(1, clean=False)  # a copy that was made while the node ran
    assert stage.partition("all").leader == 1
    stage.register(2, clean=False, new_disk=True)
    stage.register(3, clean=False, new_disk=True)
    assert sorted(stage.partition("one", index).leader for index in range(3)) == [-1, -1, 1]
    assert stage.partition("all").isr == (1,)
