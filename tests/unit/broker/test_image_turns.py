"""A change of the metadata is applied in turns, and only the partitions that have changed are checked."""

import asyncio

from barnabas.broker.partition import image_turns
from barnabas.broker.partition.image_turns import CHECKS_A_TURN, ApplyTurns
from barnabas.core.cluster.image import PartitionImage, TopicImage

COUNT = 10_000


def image(epoch: int = 0) -> PartitionImage:
    return PartitionImage(replicas=(1,), isr=(1,), leader=1, leader_epoch=epoch, partition_epoch=epoch, directories=())


def topic(*partitions: PartitionImage) -> TopicImage:
    return TopicImage("t", bytes(16), partitions, {})


class Stage:
    def __init__(self) -> None:
        self.applied: list[tuple[TopicImage, int]] = []
        self.turns = ApplyTurns(self._apply)

    def _apply(self, topic: TopicImage, index: int) -> bool:
        self.applied.append((topic, index))
        return True


def test_of_a_known_topic_only_what_has_changed() -> None:
    async def story() -> None:
        stage, before = Stage(), topic(*(image() for _ in range(COUNT)))
        after = topic(*before.partitions[:7], image(1), *before.partitions[8:], image())
        stage.turns.begin(after, CHECKS_A_TURN, before)
        assert stage.applied == [(after, 7), (after, COUNT)]
        assert not stage.turns.waiting

    asyncio.run(story())


def test_a_change_of_a_topic_that_is_under_way_takes_in_what_was_left() -> None:
    async def story() -> None:
        stage = Stage()
        first = topic(*(image() for _ in range(COUNT)))
        stage.turns.begin(first, CHECKS_A_TURN)
        assert 0 < len(stage.applied) < COUNT
        second = topic(*first.partitions[:-1], image(1))
        stage.turns.begin(second, CHECKS_A_TURN, first)
        stage.turns.now("t", COUNT - 1)
        assert stage.applied[-1] == (second, COUNT - 1)
        await stage.turns.done()
        assert {index for seen, index in stage.applied if seen is second} == set(range(COUNT))

    asyncio.run(story())


def test_each_turn_is_short() -> None:
    async def story() -> None:
        stage = Stage()
        stage.turns.begin(topic(*(image() for _ in range(COUNT))), CHECKS_A_TURN)
        turns = [len(stage.applied)]
        while stage.turns.waiting:
            await asyncio.sleep(0)
            turns.append(len(stage.applied) - sum(turns))
        assert max(turns) <= image_turns.PARTITIONS_A_TURN
        assert sum(turns) == COUNT

    asyncio.run(story())
