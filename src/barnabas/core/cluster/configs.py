"""Changing settings: IncrementalAlterConfigs (set, delete, append, subtract; KIP-339) and the older AlterConfigs, which
replaces all of a resource's settings.

Each resource succeeds or fails as a whole. Appending and subtracting work on lists, from the resource's own value, else
from what the setting falls back to; an item already there is not appended twice.
"""

from collections.abc import Collection, Mapping

from barnabas.core.cluster.config_rules import check_configs, is_list, setting_of
from barnabas.core.cluster.features import ELR_VERSION, MIN_ISR, MIN_ZONES
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.items import ConfigChange
from barnabas.core.cluster.records import ConfigRecord, Record
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import topic_name_problem
from barnabas.model.limits import GROUP_CONFIGS_MAX, LINKS_MAX, TELEMETRY_SUBSCRIPTIONS_MAX
from barnabas.model.settings import ResourceType, Settings, value_text

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
_OPERATION = {SET: "set", DELETE: "delete", APPEND: "append", SUBTRACT: "subtract"}


def altered(
    image: MetadataImage, settings: Settings, wanted: ConfigChange, controllers: Collection[int] = ()
) -> list[Record]:
    """IncrementalAlterConfigs for one resource."""
    _check_resource(image, wanted, controllers)
    old = image.config(wanted.resource_type, wanted.resource_name)
    new = dict(old)
    for name, operation, value in wanted.changes:
        if operation not in _OPERATION:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name}: unknown operation {operation}")
        if operation == DELETE:
            new.pop(name, None)
            continue
        if value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name}: the value to {_OPERATION[operation]} cannot be null")
        if operation == SET:
            new[name] = value
            continue
        if not is_list(wanted.resource_type, name):
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"cannot {_OPERATION[operation]} to {name}: it is not a list")
        items = _split(new.get(name, _fallback(settings, wanted.resource_type, name)))
        for item in _split(value):
            if operation == APPEND and item not in items:
                items.append(item)
            elif operation == SUBTRACT and item in items:
                items.remove(item)
        new[name] = ",".join(items)
    _check_new(image, wanted, new, settings)
    return _difference(wanted, old, new)


def replaced(
    image: MetadataImage, settings: Settings, wanted: ConfigChange, controllers: Collection[int] = ()
) -> list[Record]:
    """AlterConfigs for one resource: what the request does not name goes back to the default."""
    _check_resource(image, wanted, controllers)
    new: dict[str, str] = {}
    for name, _, value in wanted.changes:
        if value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name}: the value cannot be null")
        new[name] = value
    _check_new(image, wanted, new, settings)
    return _difference(wanted, image.config(wanted.resource_type, wanted.resource_name), new)


def _check_new(image: MetadataImage, wanted: ConfigChange, new: Mapping[str, str], settings: Settings) -> None:
    check_configs(wanted.resource_type, wanted.resource_name, new, settings)
    if wanted.resource_type != ResourceType.BROKER:
        return
    # Leaders and the controller must agree on it: who is eligible to lead hangs on what could be committed.
    if wanted.resource_name and MIN_ISR in new:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
        )
    if wanted.resource_name and MIN_ZONES in new:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{MIN_ZONES} is set for the whole cluster or for a topic")
    stored = image.config(ResourceType.BROKER, "")
    if not wanted.resource_name and MIN_ZONES in stored and MIN_ZONES not in new:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, f"{MIN_ZONES} cannot be removed, because nodes may have others: set 1"
        )
    if not wanted.resource_name and MIN_ISR in stored and MIN_ISR not in new and image.features.get(ELR_VERSION, 0):
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
        )


def _check_resource(image: MetadataImage, wanted: ConfigChange, controllers: Collection[int]) -> None:
    names = [name for name, _, _ in wanted.changes]
    if len(set(names)) < len(names):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a setting stands in the request twice")
    name = wanted.resource_name
    match wanted.resource_type:
        case ResourceType.TOPIC:
            if not name:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "the settings of all topics together cannot be changed")
            problem = topic_name_problem(name)
            if problem:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic name {name!r}: {problem}")
            if name not in image.topics:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name!r}")
        case ResourceType.BROKER:
            if name and not _is_integer(name):
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"a broker is named by its number, not {name!r}")
            if name and int(name) not in image.brokers and int(name) not in controllers:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"No node with id {name} found.")
        case ResourceType.GROUP | ResourceType.CLIENT_METRICS | ResourceType.LINK:
            if not name:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "the name is empty")
            is_new = (wanted.resource_type, name) not in image.configs
            if is_new and len(image.configs) >= GROUP_CONFIGS_MAX:
                raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{GROUP_CONFIGS_MAX} resources have settings already")
            if is_new and wanted.resource_type == ResourceType.CLIENT_METRICS:
                _check_subscriptions(image)
            if is_new and wanted.resource_type == ResourceType.LINK:
                _check_new_link(image, name)
        case _:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"unknown resource type {wanted.resource_type}")


def _check_subscriptions(image: MetadataImage) -> None:
    known = sum(kind == ResourceType.CLIENT_METRICS for kind, _ in image.configs)
    if known >= TELEMETRY_SUBSCRIPTIONS_MAX:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, f"there are {known} subscriptions of client metrics: remove one first"
        )


def _check_new_link(image: MetadataImage, name: str) -> None:
    if (problem := topic_name_problem(name)) is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"link name {name!r}: {problem}")
    known = sum(kind == ResourceType.LINK for kind, _ in image.configs)
    if known >= LINKS_MAX:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"there are {known} links: remove one first")


def _fallback(settings: Settings, resource_type: int, name: str) -> str:
    """What an append begins with when the resource has no value of its own."""
    setting = setting_of(resource_type, name)
    assert setting is not None
    if resource_type == ResourceType.TOPIC:
        return value_text(settings.topic({})[name]) or ""
    if resource_type == ResourceType.BROKER:
        return value_text(settings[name]) or ""
    return value_text(setting.default) or ""


def _split(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _difference(wanted: ConfigChange, old: Mapping[str, str], new: Mapping[str, str]) -> list[Record]:
    names = [name for name in (*old, *(n for n in new if n not in old)) if old.get(name) != new.get(name)]
    return [
        ConfigRecord(
            resource_type=wanted.resource_type, resource_name=wanted.resource_name, name=name, value=new.get(name)
        )
        for name in names
    ]


def _is_integer(text: str) -> bool:
    return text.lstrip("-").isdecimal() and text.isascii() and len(text) <= 11
