"""What an operator wants to read of changes to the cluster, in a few lines however many partitions they are about.

    summary.add(records, image before them)         as often as there are changes
    summary.lines()                                 (needs attention, text), and begins anew

One line for each kind of change, with the first few names and how many more there are. The value of a setting is shown
only if the setting is known not to be a secret.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from barnabas.core.access.bindings import AclBinding
from barnabas.core.access.quotas.rules import entity_text
from barnabas.core.cluster.delta import acl_binding
from barnabas.core.cluster.image import NO_LEADER, MetadataImage
from barnabas.core.cluster.records import (
    AccessControlEntry,
    ChangeBroker,
    ClientQuota,
    ConfigRecord,
    PartitionChange,
    PartitionRecord,
    Record,
    RegisterBroker,
    RemoveAccessControlEntry,
    RemoveTopic,
    TopicRecord,
    UnregisterBroker,
)
from barnabas.model.settings import (
    GROUP_SETTINGS,
    LINK_SETTINGS,
    METRICS_SETTINGS,
    NODE_SETTINGS,
    TOPIC_SETTINGS,
    ResourceType,
)

NAMES_MAX = 5  # named in a line; of the others the number is told
_VALUE_CHARS_MAX = 80
_TABLES = {
    int(ResourceType.TOPIC): ("topic", TOPIC_SETTINGS),
    int(ResourceType.BROKER): ("broker", NODE_SETTINGS),
    int(ResourceType.GROUP): ("group", GROUP_SETTINGS),
    int(ResourceType.CLIENT_METRICS): ("metrics subscription", METRICS_SETTINGS),
    int(ResourceType.LINK): ("link", LINK_SETTINGS),
}


class _Names:
    """Some names and how many there are."""

    __slots__ = ("count", "first")

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []

    def add(self, name: str) -> None:
        self.count += 1
        if len(self.first) < NAMES_MAX:
            self.first.append(name)

    def add_made(self, make: Callable[[], str]) -> None:
        """The same; what is only counted is not put into words: of 10,000 partitions that took 40 ms."""
        self.count += 1
        if len(self.first) < NAMES_MAX:
            self.first.append(make())

    def __str__(self) -> str:
        more = self.count - len(self.first)
        return ", ".join(self.first) + (f" and {more:,} more" if more else "")


class ChangeSummary:
    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._brokers: list[str] = []
        self._created, self._deleted, self._grown = _Names(), _Names(), _Names()
        self._leaders, self._leaderless = _Names(), _Names()
        self._shrunk, self._expanded = _Names(), _Names()
        self._allowed, self._withdrawn = _Names(), _Names()
        self._quotas = _Names()
        self._settings: dict[str, _Names] = {}

    def add(self, records: Iterable[Record], before: MetadataImage) -> None:
        new_topics: dict[bytes, list[int]] = {}
        names: dict[bytes, str] = {}
        grown: dict[bytes, int] = {}
        for record in records:
            match record:
                case PartitionChange():
                    self._partition(record, before)
                case PartitionRecord():
                    if record.topic_id in new_topics:
                        new_topics[record.topic_id].append(len(record.replicas))
                    else:
                        grown[record.topic_id] = grown.get(record.topic_id, 0) + 1
                case TopicRecord():
                    new_topics[record.topic_id] = []
                    names[record.topic_id] = record.name
                case RemoveTopic():
                    self._deleted.add(before.topic_names.get(record.topic_id, "?"))
                case ConfigRecord():
                    self._setting(record)
                case AccessControlEntry():
                    self._allowed.add_made(partial(_rule, acl_binding(record)))
                case RemoveAccessControlEntry():
                    self._withdrawn.add_made(partial(_rule, before.acls.by_id.get(record.id)))
                case ClientQuota():
                    self._quotas.add_made(partial(_quota, record))
                case RegisterBroker() | ChangeBroker() | UnregisterBroker():
                    self._broker(record)
                case _:
                    pass
        for topic_id, replicas in new_topics.items():
            shape = f"{_count(len(replicas), 'partition')}, {_count(max(replicas, default=0), 'replica')}"
            self._created.add(f"{names[topic_id]} ({shape})")
        for topic_id, count in grown.items():
            self._grown.add(f"{before.topic_names.get(topic_id, '?')} ({count:,} more)")

    def _partition(self, change: PartitionChange, before: MetadataImage) -> None:
        topic = before.topic_by_id(change.topic_id)
        if topic is None or change.partition >= len(topic.partitions):
            return
        index, old, isr = change.partition, topic.partitions[change.partition], change.isr
        if change.leader is not None and change.leader != old.leader:
            if change.leader == NO_LEADER:
                self._leaderless.add_made(lambda: f"{topic.name}-{index}")
            else:
                self._leaders.add_made(lambda: f"{topic.name}-{index} from {_broker(old.leader)} to {change.leader}")
        if isr is not None:
            shrunk = len(isr) < len(old.isr) or not set(old.isr) <= set(isr)
            if shrunk or len(isr) > len(old.isr):
                names = self._shrunk if shrunk else self._expanded
                names.add_made(lambda: f"{topic.name}-{index} {_ids(isr)} of {_ids(old.replicas)}")

    def _setting(self, record: ConfigRecord) -> None:
        kind, table = _TABLES.get(record.resource_type, (f"resource type {record.resource_type}", {}))
        whose = f"{kind} {record.resource_name}" if record.resource_name else f"every {kind}"
        setting = table.get(record.name)
        if record.value is None:
            told = f"{record.name} back to its default"
        elif setting is None or setting.sensitive:
            told = f"{record.name} (value not shown)"
        else:
            value = record.value
            told = f"{record.name}={value if len(value) <= _VALUE_CHARS_MAX else value[:_VALUE_CHARS_MAX] + '...'}"
        self._settings.setdefault(whose, _Names()).add(told)

    def _broker(self, record: RegisterBroker | ChangeBroker | UnregisterBroker) -> None:
        match record:
            case RegisterBroker():
                told = "has registered"
            case UnregisterBroker():
                told = "has left the cluster"
            case ChangeBroker(fenced=True):
                told = "is fenced"
            case ChangeBroker(fenced=False):
                told = "is unfenced: it may lead and be in sync"
            case ChangeBroker(in_controlled_shutdown=True):
                told = "is being shut down"
            case _:
                return
        self._brokers.append(f"broker {record.broker_id} {told}")

    def lines(self) -> list[tuple[bool, str]]:
        found = [(False, text) for text in self._brokers[:NAMES_MAX]]
        if len(self._brokers) > NAMES_MAX:
            more = len(self._brokers) - NAMES_MAX
            found.append((False, f"{more:,} more {'change' if more == 1 else 'changes'} of brokers"))
        for names, one, many in (
            (self._created, "topic created", "topics created"),
            (self._grown, "topic has grown", "topics have grown"),
            (self._deleted, "topic deleted", "topics deleted"),
            (self._leaders, "partition has another leader", "partitions have another leader"),
            (self._leaderless, "partition has no leader", "partitions have no leader"),
            (self._shrunk, "partition has fewer replicas in sync", "partitions have fewer replicas in sync"),
            (self._allowed, "rule (ACL) added", "rules (ACLs) added"),
            (self._withdrawn, "rule (ACL) removed", "rules (ACLs) removed"),
            (self._quotas, "quota changed", "quotas changed"),
            (self._expanded, "partition has more replicas in sync", "partitions have more replicas in sync"),
        ):
            if names.count:
                text = f"{names.count:,} {one if names.count == 1 else many}: {names}"
                found.append((names is self._leaderless, text))
        settings = list(self._settings.items())
        found += [(False, f"settings of {whose} changed: {names}") for whose, names in settings[:NAMES_MAX]]
        if len(settings) > NAMES_MAX:
            found.append((False, f"settings of {len(settings) - NAMES_MAX:,} more resources changed"))
        self._begin()
        return found


def _rule(rule: AclBinding | None) -> str:
    return "?" if rule is None else str(rule)


def _quota(record: ClientQuota) -> str:
    value = "removed" if record.remove else f"{record.value:,.10g}"
    return f"{record.key} of {entity_text(record.entity)[:_VALUE_CHARS_MAX]}: {value}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _ids(brokers: Sequence[int]) -> str:
    return f"[{','.join(map(str, brokers))}]"


def _broker(broker_id: int) -> str:
    return "none" if broker_id == NO_LEADER else str(broker_id)
