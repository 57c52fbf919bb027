"""Feature levels (KIP-584, KIP-1022): what this release supports, what the cluster has settled on, and
UpdateFeatures.

Clients read the settled levels in ApiVersions and behave accordingly: `group.version` 1 turns on the new consumer
protocol (KIP-848), `transaction.version` 2 makes a Java producer use the newer transactions (KIP-890).
Eligible leader replicas (KIP-966) are always kept, whatever the level says. Where the level is 1, `min.insync.replicas`
has a value for the whole cluster, as in Kafka: leaders and the controller must agree on it (`elr_safety_records`). So
has `min.insync.zones`, which Kafka does not have, where the controller's own is above 1.
`share.version` and `streams.version` can be set, so that `kafka-features --release-version` works; the groups they
stand for are not served, and their APIs not advertised.
`metadata.version` is the level of Kafka 4.3, whose records and messages we match. `kraft.version` belongs to the quorum
and does not change through UpdateFeatures.
"""

from collections.abc import Mapping, Sequence

from barnabas.core.cluster.items import FeatureUpdate
from barnabas.core.cluster.records import ConfigRecord, FeatureLevel, Record
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings import ResourceType, Settings

METADATA_VERSION, KRAFT_VERSION = "metadata.version", "kraft.version"
ELR_VERSION, MIN_ISR = "eligible.leader.replicas.version", "min.insync.replicas"
MIN_ZONES = "min.insync.zones"
FOR_A_COMMIT = (MIN_ISR, MIN_ZONES)  # who is eligible to lead hangs on what could be committed
SUPPORTED: dict[str, tuple[int, int]] = {
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    "kraft.version": (0, 1),
    "metadata.version": (7, 30),
    "share.version": (0, 1),
    "streams.version": (0, 1),
    "transaction.version": (0, 2),
}
DEFAULT_LEVELS = {
    "metadata.version": 30,
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "kraft.version": 1,
    "transaction.version": 2,
}
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


def default_feature_records() -> list[Record]:
    """What a new cluster settles on."""
    return [FeatureLevel(name=name, level=level) for name, level in DEFAULT_LEVELS.items()]


def elr_safety_records(
    levels: Mapping[str, int], stored: Mapping[str, str], settings: Settings, changes: Sequence[Record] = ()
) -> list[Record]:
    """The cluster-wide `min.insync.replicas`, where eligible leader replicas are on (or will be, by `changes`) and
    nobody has set one: the controller's own value; likewise `min.insync.zones`. `stored` are the settings of the whole
    cluster."""
    level = levels.get(ELR_VERSION, 0)
    for change in changes:
        if isinstance(change, FeatureLevel) and change.name == ELR_VERSION:
            level = change.level
    records: list[Record] = []
    if settings.int(MIN_ZONES) > 1 and MIN_ZONES not in stored:
        records.append(_for_all(MIN_ZONES, settings))
    if level >= 1 and MIN_ISR not in stored:
        records.append(_for_all(MIN_ISR, settings))
    return records


def _for_all(name: str, settings: Settings) -> ConfigRecord:
    return ConfigRecord(resource_type=ResourceType.BROKER, resource_name="", name=name, value=str(settings.int(name)))


def update_records(finalized: Mapping[str, int], updates: Sequence[FeatureUpdate], node_id: int) -> list[Record]:
    """All the updates or, with KafkaError, none (KIP-584: one request is one change)."""
    records: list[Record] = []
    for update in {update.name: update for update in updates}.values():
        old = finalized.get(update.name, 0)
        _check(update, old, node_id)
        if update.max_version_level != old:
            records.append(FeatureLevel(name=update.name, level=update.max_version_level))
    return records


def _check(update: FeatureUpdate, old: int, node_id: int) -> None:
    """The words are Kafka's: `kafka-features` prints them."""
    name, level = update.name, update.max_version_level
    start = f"Invalid update version {level} for feature {name}."
    if update.upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise KafkaError(
            ErrorCode.INVALID_UPDATE_VERSION, f"{start} The controller does not support the given upgrade type."
        )
    if name == KRAFT_VERSION and level != old:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"{name}: is set when the quorum is made")
    low, high = SUPPORTED.get(name, (0, -1))
    if name not in SUPPORTED:
        raise KafkaError(
            ErrorCode.INVALID_UPDATE_VERSION, f"{start} Local controller {node_id} does not support this feature."
        )
    if not low <= level <= high:
        only = f"Local controller {node_id} only supports versions {low}-{high}"
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"{start} {only}")
    if level < old and update.upgrade_type == UPGRADE:
        raise KafkaError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"{start} Can't downgrade the version of this feature without setting the upgrade type to either safe or"
            " unsafe downgrade.",
        )
    if level > old and update.upgrade_type != UPGRADE:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"{start} Can't downgrade to a newer version.")
    if level < old and name == METADATA_VERSION:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"{start} This release does not write older metadata.")
