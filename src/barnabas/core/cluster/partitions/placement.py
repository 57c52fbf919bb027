"""Where replicas live: spread over racks first, then over brokers, leaders in turn, beginning at a random place.

The brokers stand in a circle in which neighbours are of different racks as long as that is possible. Each partition
begins one broker further, takes its leader there and the next brokers as followers, a rack it already uses only when
no other is left. A fenced broker takes a replica only when the live ones do not suffice, and never the first one,
which leads. A broker that is shutting down is as good as fenced. (The aims of Kafka's striped placer, KIP-36 and
KIP-841.)

Where leaders should be in certain racks (`leader.preferred.racks`), partitions begin at the brokers of the best of them
that has a live one, and the followers there come before the others.
"""

from collections.abc import Sequence

from barnabas.core.cluster.image import BrokerImage
from barnabas.core.randomness import Random
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.zones import in_order, rank


def place(
    brokers: Sequence[BrokerImage],
    partitions: int,
    replication_factor: int,
    random: Random,
    preferred_racks: Sequence[str] = (),
) -> list[tuple[int, ...]]:
    """The replicas of each partition, the preferred leader first."""
    if replication_factor > len(brokers):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"replication factor {replication_factor} needs as many brokers, and {len(brokers)} are registered",
        )
    live = _circle([broker for broker in brokers if broker.eligible], random)
    if not live:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, "every registered broker is fenced")
    spare = _circle([broker for broker in brokers if not broker.eligible], random)
    if len(live) == 1 and replication_factor == 1:
        return [(live[0].broker_id,)] * partitions
    starts = _starts(live, preferred_racks)
    first, count = random.randrange(len(starts)), len(starts)
    # It comes round: of three brokers there are six placements, and 10,000 partitions would take 50 ms to place.
    turns = range(min(partitions, count * max(len(live) - 1, 1)))
    placed = [
        _replicas(live, spare, starts[(first + index) % count], index // count, replication_factor) for index in turns
    ]
    if preferred_racks:
        rack_of = {broker.broker_id: broker.rack for broker in brokers}.get
        placed = [_live_first(in_order(each, preferred_racks, rack_of), live) for each in placed]
    return [placed[index % len(placed)] for index in range(partitions)]


def _starts(live: Sequence[BrokerImage], preferred_racks: Sequence[str]) -> list[int]:
    """Places in the circle of the brokers that should lead."""
    best = min(rank(broker.rack, preferred_racks) for broker in live)
    return [place for place, broker in enumerate(live) if rank(broker.rack, preferred_racks) == best]


def _live_first(replicas: tuple[int, ...], live: Sequence[BrokerImage]) -> tuple[int, ...]:
    """A fenced broker in a preferred rack does not lead either."""
    ids = {broker.broker_id for broker in live}
    return tuple(sorted(replicas, key=lambda broker_id: broker_id not in ids))


def _circle(brokers: Sequence[BrokerImage], random: Random) -> list[BrokerImage]:
    """Brokers so that one of each rack comes before a second of any."""
    racks: dict[str, list[BrokerImage]] = {}
    for broker in brokers:
        racks.setdefault(broker.rack or "", []).append(broker)
    queues = list(racks.values())
    random.shuffle(queues)
    for queue in queues:
        random.shuffle(queue)
    queues.sort(key=len, reverse=True)  # the fullest rack first leaves the fewest neighbours of one rack
    circle: list[BrokerImage] = []
    for turn in range(max(map(len, queues), default=0)):
        circle.extend(queue[turn] for queue in queues if turn < len(queue))
    return circle


def _replicas(
    live: Sequence[BrokerImage], spare: Sequence[BrokerImage], start: int, round_: int, count: int
) -> tuple[int, ...]:
    """The leader at `start`; followers after it, one step further each round so that pairs of brokers vary."""
    leader = live[start % len(live)]
    others = [live[(start + 1 + i) % len(live)] for i in range(len(live) - 1)]
    if others:
        turn = round_ % len(others)
        others = others[turn:] + others[:turn]
    chosen = [leader]
    racks = {leader.rack}
    for pool in (others, list(spare)):
        while len(chosen) < count and pool:
            fresh = next((broker for broker in pool if broker.rack is None or broker.rack not in racks), None)
            if fresh is None:
                racks.clear()  # every rack is used once more
                fresh = pool[0]
            pool.remove(fresh)
            chosen.append(fresh)
            racks.add(fresh.rack)
    return tuple(broker.broker_id for broker in chosen)
