"""What becomes of one partition: the single place where a leader, the in-sync and the eligible replicas are decided.

    in: the partition, what is wished of it (in-sync replicas, replicas, an election), who is up
    out: one PartitionChange, or None when nothing changes

The order, after Kafka's own (KIP-455, KIP-966):

1. A reassignment whose new replicas are all in sync is done: what was to be removed goes. Where replicas become fewer,
   all that stay must be in sync.
2. In sync is who was asked for and is up. (The list may be empty: then nobody leads.)
3. While fewer are in sync than `min.insync.replicas` asks for, or they are in fewer zones than `min.insync.zones` does
   (which Kafka does not have), nothing is committed, so whoever leaves the list in that time still holds every
   acknowledged record: it is eligible (`elr`). Once enough are in sync that ends. A replica
   whose log may have lost something (`doubtful`: its machine lost power) is not eligible any more; while nobody leads
   it is remembered, behind the last leader (`last_known_elr`). One whose log is gone (`lost`) is not even that.
4. A leader is in sync, or eligible, and up. The present one stays if it can, else it is the first in the order of the
   replicas. When nobody is in sync or eligible any more, the last leader leads again: what it lost is lost, but nobody
   else knows more (the "balanced" recovery of KIP-966). Any other replica is taken only where an unclean election is
   allowed. Both begin a new history: what was eligible before is not any more.
5. A new leader begins a new leader epoch; so does a replica leaving the assignment, which must not be heard any more.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from barnabas.core.cluster.image import NO_LEADER, MetadataImage, PartitionImage, TopicImage
from barnabas.core.cluster.partitions.rules import TopicRules
from barnabas.core.cluster.records import PartitionChange
from barnabas.model.ids import ZERO_UUID
from barnabas.model.zones import ZoneOf, too_few

Brokers = tuple[int, ...]
NOBODY: frozenset[int] = frozenset()


class Wish(Struct, frozen=True):
    """What somebody wants of a partition; None: as it is."""

    isr: Sequence[int] | None = None
    replicas: Brokers | None = None
    adding: Brokers | None = None
    removing: Brokers | None = None
    preferred: bool = False  # the first replica leads if it can, even where another does well
    unclean: bool | None = None  # instead of the topic's rule
    doubtful: frozenset[int] = field(default=NOBODY)
    lost: frozenset[int] = field(default=NOBODY)


def may_serve(image: MetadataImage) -> Callable[[int], bool]:
    """Who may lead and be in sync: up, and not on its way down."""
    return frozenset(broker.broker_id for broker in image.brokers.values() if broker.eligible).__contains__


def changed(
    image: MetadataImage,
    topic: TopicImage,
    index: int,
    rules: TopicRules,
    wish: Wish,
    up: Callable[[int], bool],
) -> PartitionChange | None:
    old = topic.partitions[index]
    replicas = old.replicas if wish.replicas is None else wish.replicas
    adding = old.adding_replicas if wish.adding is None else wish.adding
    removing = old.removing_replicas if wish.removing is None else wish.removing
    doubtful = NOBODY if rules.flushed else wish.doubtful
    gone = doubtful | wish.lost
    isr = tuple(b for b in (old.isr if wish.isr is None else wish.isr) if up(b) and b not in gone)
    if adding or removing:
        staying, target = tuple(b for b in isr if b not in removing), tuple(b for b in replicas if b not in removing)
        needed = target if len(adding) < len(removing) else adding
        if staying and all(b in staying for b in needed):
            isr, replicas = staying, target
            adding = removing = ()
    elr, last_known = _eligible(old, isr, replicas, _can_commit(image, isr, replicas, rules), doubtful, wish.lost)
    leader, recovered = _leader(old, replicas, isr, elr, last_known, up, wish, rules)
    if leader != NO_LEADER and leader not in isr:
        isr = (leader,)
        elr = tuple(b for b in elr if b != leader)
    if leader != NO_LEADER:
        last_known = ()
    if recovered or _can_commit(image, isr, replicas, rules):
        elr = ()
    forgets = any(b not in replicas for b in old.replicas)
    change = PartitionChange(
        topic_id=topic.id,
        partition=index,
        leader=leader if leader != old.leader or recovered or forgets else None,
        isr=isr if isr != old.isr else None,
        replicas=replicas if replicas != old.replicas else None,
        adding_replicas=adding if adding != old.adding_replicas else None,
        removing_replicas=removing if removing != old.removing_replicas else None,
        directories=_directories(image, old, replicas, wish.lost) if replicas != old.replicas or wish.lost else None,
        elr=elr if elr != old.elr else None,
        last_known_elr=last_known if last_known != old.last_known_elr else None,
    )
    nothing = (
        change.leader is None
        and change.isr is None
        and change.replicas is None
        and change.adding_replicas is None
        and change.removing_replicas is None
        and change.directories in (None, old.directories)
        and change.elr is None
        and change.last_known_elr is None
    )
    return None if nothing else change


def zones_in(image: MetadataImage) -> ZoneOf:
    def zone_of(broker_id: int) -> str | None:
        broker = image.brokers.get(broker_id)
        return None if broker is None else broker.rack

    return zone_of


def _can_commit(image: MetadataImage, isr: Brokers, replicas: Brokers, rules: TopicRules) -> bool:
    """Are enough replicas in sync? The leader decides the same (core/partition/replicas.py)."""
    if len(isr) < min(rules.min_isr, len(replicas)):
        return False
    return rules.min_zones <= 1 or not too_few(isr, rules.min_zones, zones_in(image))


def _eligible(
    old: PartitionImage,
    isr: Brokers,
    replicas: Brokers,
    can_commit: bool,
    doubtful: frozenset[int],
    lost: frozenset[int],
) -> tuple[Brokers, Brokers]:
    """The eligible replicas, and, should nobody lead, whom to turn to when there are none: the last leader first."""
    if can_commit:
        return (), ()
    held = old.elr if not old.isr else (*old.elr, *(b for b in old.isr if b not in old.elr))
    elr = tuple(b for b in held if b in replicas and b not in isr and b not in doubtful and b not in lost)
    known = (old.leader, *old.last_known_elr, *(b for b in held if b in doubtful))
    return elr, tuple(b for b in dict.fromkeys(known) if b in replicas and b not in isr and b not in lost)


def _leader(
    old: PartitionImage,
    replicas: Brokers,
    isr: Brokers,
    elr: Brokers,
    last_known: Brokers,
    up: Callable[[int], bool],
    wish: Wish,
    rules: TopicRules,
) -> tuple[int, bool]:
    """Who leads, and whether that gives up what others may have had. Everybody in `isr` is up."""
    if wish.preferred and (replicas[0] in isr or (not isr and replicas[0] in elr and up(replicas[0]))):
        return replicas[0], False
    if old.leader in isr:
        return old.leader, False
    for broker_id in replicas:
        if broker_id in isr:
            return broker_id, False
    for broker_id in replicas:
        if broker_id in elr and up(broker_id):
            return broker_id, False
    if not elr and last_known and up(last_known[0]):
        return last_known[0], True
    if rules.unclean if wish.unclean is None else wish.unclean:
        candidates = sorted((b for b in replicas if up(b)), key=wish.lost.__contains__)  # an empty log comes last
        return (candidates[0], True) if candidates else (NO_LEADER, False)
    return NO_LEADER, False


def _directories(
    image: MetadataImage, old: PartitionImage, replicas: Brokers, lost: frozenset[int]
) -> tuple[bytes, ...]:
    """Where each replica lies: as before, or, where it begins anew, in the first directory of its broker."""
    known = {b: d for b, d in zip(old.replicas, old.directories, strict=False) if b not in lost}
    return tuple(known.get(b) or directory_of(image, b) for b in replicas)


def directory_of(image: MetadataImage, broker_id: int) -> bytes:
    broker = image.brokers.get(broker_id)
    return broker.directories[0] if broker is not None and broker.directories else ZERO_UUID
