"""What a topic's settings say about its leaders: how many replicas in how many zones a commit needs, what an unclean
stop can take, whether records may be given up for a leader, and in which zones leaders should be.
"""

from collections.abc import Callable
from typing import NamedTuple

from barnabas.core.cluster.image import TopicImage
from barnabas.model.settings import Settings


class TopicRules(NamedTuple):
    min_isr: int = 1  # min.insync.replicas
    unclean: bool = False  # unclean.leader.election.enable
    flushed: bool = False  # every write is on disk before it counts (flush.messages=1): a power loss takes nothing
    min_zones: int = 1  # min.insync.zones
    preferred_racks: tuple[str, ...] = ()  # leader.preferred.racks


RulesOf = Callable[[TopicImage], TopicRules]


_KNOWN_MAX = 1_000  # different sets of settings that topics have; more are read again


class Rules:
    """The rules of every topic under one set of settings; topics with the same settings of their own share one
    answer: what is decided about all topics of a cluster asks for each of them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._default: TopicRules | None = None
        self._known: dict[frozenset[tuple[str, str]], TopicRules] = {}

    def __call__(self, topic: TopicImage) -> TopicRules:
        if topic.configs:
            key = frozenset(topic.configs.items())
            known = self._known.get(key)
            if known is None:
                if len(self._known) >= _KNOWN_MAX:
                    self._known.clear()
                known = self._known[key] = self._read(topic)
            return known
        if self._default is None:
            self._default = self._read(topic)
        return self._default

    def _read(self, topic: TopicImage) -> TopicRules:
        values = self.settings.topic(topic.configs)
        return TopicRules(
            values.int("min.insync.replicas"),
            values.bool("unclean.leader.election.enable"),
            values.int("flush.messages") == 1,
            values.int("min.insync.zones"),
            values.list("leader.preferred.racks"),
        )
