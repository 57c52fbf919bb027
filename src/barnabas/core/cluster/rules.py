"""What a topic's settings say about its leaders: how many replicas a commit needs, what an unclean stop can take, and
whether records may be given up for a leader.
"""

from collections.abc import Callable
from typing import NamedTuple

from barnabas.core.cluster.image import TopicImage
from barnabas.model.settings import Settings


class TopicRules(NamedTuple):
    min_isr: int = 1  # min.insync.replicas
    unclean: bool = False  # unclean.leader.election.enable
    flushed: bool = False  # every write is on disk before it counts (flush.messages=1): a power loss takes nothing


RulesOf = Callable[[TopicImage], TopicRules]


class Rules:
    """The rules of every topic under one set of settings; topics without settings of their own share one answer."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._default: TopicRules | None = None

    def __call__(self, topic: TopicImage) -> TopicRules:
        if topic.configs:
            return self._read(topic)
        if self._default is None:
            self._default = self._read(topic)
        return self._default

    def _read(self, topic: TopicImage) -> TopicRules:
        values = self.settings.topic(topic.configs)
        return TopicRules(
            values.int("min.insync.replicas"),
            values.bool("unclean.leader.election.enable"),
            values.int("flush.messages") == 1,
        )
