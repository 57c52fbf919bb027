"""Which settings a resource may have: names, values, and the rules between them.

Kafka's codes differ by resource and its tools rely on that: a topic's or a group's bad setting is INVALID_CONFIG, a
broker's is INVALID_REQUEST. A broker may be given names nobody knows (plugins read them); their values count as secret.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import CONFIG_VALUE_MAX_CHARS, CONFIGS_PER_RESOURCE_MAX
from barnabas.model.settings import (
    GROUP_SETTINGS,
    LINK_SETTINGS,
    METRICS_SETTINGS,
    NODE_SETTINGS,
    TOPIC_SETTINGS,
    ConfigType,
    ResourceType,
    Setting,
    Settings,
    UpdateMode,
    listener_setting,
    parse_value,
)

_TABLES: dict[int, Mapping[str, Setting]] = {
    ResourceType.TOPIC: TOPIC_SETTINGS,
    ResourceType.BROKER: NODE_SETTINGS,
    ResourceType.CLIENT_METRICS: METRICS_SETTINGS,
    ResourceType.GROUP: GROUP_SETTINGS,
    ResourceType.LINK: LINK_SETTINGS,
}


def setting_of(resource_type: int, name: str) -> Setting | None:
    return _TABLES[resource_type].get(name)


def is_list(resource_type: int, name: str) -> bool:
    """May items be appended? Kafka's controller knows no lists of a metrics subscription."""
    if resource_type == ResourceType.CLIENT_METRICS:
        return False
    setting = setting_of(resource_type, name)
    return setting is not None and setting.type is ConfigType.LIST


def check_topic_configs(pairs: Iterable[tuple[str, str | None]], settings: Settings) -> dict[str, str]:
    """A new topic's settings; of a name that stands there twice, the last counts."""
    configs: dict[str, str] = {}
    for name, value in pairs:
        if value is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"a topic's setting cannot be null: {name}")
        configs[name] = value
    check_configs(ResourceType.TOPIC, "", configs, settings)
    return configs


def check_configs(resource_type: int, resource_name: str, configs: Mapping[str, str], settings: Settings) -> None:
    """Whether a resource may have exactly these settings; KafkaError otherwise."""
    if len(configs) > CONFIGS_PER_RESOURCE_MAX:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"more than {CONFIGS_PER_RESOURCE_MAX} settings for one resource")
    for name, value in configs.items():
        if len(value) > CONFIG_VALUE_MAX_CHARS or len(name) > CONFIG_VALUE_MAX_CHARS:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{name[:80]}: longer than {CONFIG_VALUE_MAX_CHARS} characters")
    match resource_type:
        case ResourceType.TOPIC:
            _check_topic(configs, settings)
        case ResourceType.BROKER:
            _check_broker(resource_name, configs, settings)
        case ResourceType.GROUP:
            _check_group(configs, settings)
        case ResourceType.CLIENT_METRICS:
            _check_metrics(configs)
        case ResourceType.LINK:
            _check_link(configs)


def _check_topic(configs: Mapping[str, str], settings: Settings) -> None:
    _check_values("topic", TOPIC_SETTINGS, configs)
    view = settings.topic(configs)
    least, most = view.int("min.compaction.lag.ms"), view.int("max.compaction.lag.ms")
    if least > most:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, f"min.compaction.lag.ms={least} is above max.compaction.lag.ms={most}"
        )
    if view.bool("remote.storage.enable"):
        raise KafkaError(ErrorCode.INVALID_CONFIG, "remote.storage.enable=true: there is no tiered storage here")


def _check_broker(resource_name: str, configs: Mapping[str, str], settings: Settings) -> None:
    """The words are Kafka's: its tools print them, and its tests compare them."""
    rows = {name: row for name in configs if (row := NODE_SETTINGS.get(name) or listener_setting(name)) is not None}
    modes = {name: row.update_mode for name, row in rows.items()}
    _refuse("Cannot update these configs dynamically", [n for n in modes if modes[n] is UpdateMode.READ_ONLY])
    if not resource_name:
        per_node = [name for name in modes if modes[name] is UpdateMode.PER_NODE]
        _refuse("Cannot update these configs at default cluster level", per_node)
    _refuse(
        "These security configs can be dynamically updated only per-listener using the listener prefix",
        [name for name in configs if name in _PER_LISTENER],
    )
    for name, row in rows.items():
        try:
            parse_value(row, configs[name])
        except KafkaError as error:
            raise KafkaError(ErrorCode.INVALID_REQUEST, error.message) from None
    threads, buffer = (int(configs.get(name) or settings.int(name)) for name in (_CLEANERS, _CLEANER_BUFFER))
    if (_CLEANERS in configs or _CLEANER_BUFFER in configs) and buffer // max(threads, 1) <= _CLEANER_BUFFER_LEAST:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{_CLEANER_BUFFER} must be at least 1MB per cleaner thread.")


_CLEANERS, _CLEANER_BUFFER, _CLEANER_BUFFER_LEAST = "log.cleaner.threads", "log.cleaner.dedupe.buffer.size", 1024 * 1024
# Kafka's reconfigurable settings of TLS: a broker may change them while it runs, for one listener at a time.
_PER_LISTENER = frozenset(
    {
        "ssl.keystore.type",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.key.password",
        "ssl.truststore.type",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.truststore.certificates",
    }
)


def _refuse(words: str, names: list[str]) -> None:
    if names:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{words}: [{', '.join(names)}]")


def _check_group(configs: Mapping[str, str], settings: Settings) -> None:
    """A group's times stay between the node's least and most (KIP-848: group.consumer.min/max...)."""
    _check_values("group", GROUP_SETTINGS, configs)
    for name, text in configs.items():
        value = parse_value(GROUP_SETTINGS[name], text)
        kind, _, rest = name.partition(".")
        low, high = f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest}"
        if name == "streams.num.standby.replicas":
            high = "group.streams.max.standby.replicas"
        if low in settings and isinstance(value, int) and value < settings.int(low):
            raise KafkaError(
                ErrorCode.INVALID_CONFIG, f"{name} must be greater than or equal to {low} ({settings.int(low)})"
            )
        if high in settings and isinstance(value, int) and value > settings.int(high):
            raise KafkaError(
                ErrorCode.INVALID_CONFIG, f"{name} must be less than or equal to {high} ({settings.int(high)})"
            )
    for kind in ("consumer", "share", "streams"):
        session, beat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        session_ms = int(configs.get(session) or settings.int(f"group.{session}"))
        beat_ms = int(configs.get(beat) or settings.int(f"group.{beat}"))
        if session_ms <= beat_ms:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG, f"{session} must be greater than {beat} ({session_ms} and {beat_ms})"
            )


def _check_metrics(configs: Mapping[str, str]) -> None:
    for name in configs:
        if name not in METRICS_SETTINGS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"unknown client metrics setting {name}")
    interval = METRICS_SETTINGS["interval.ms"]
    value = parse_value(replace(interval, valid=None), configs.get(interval.name, str(interval.default)))
    if interval.valid is not None and interval.valid.problem(value):
        words = f"Invalid value {value} for interval.ms, interval must be between 100 and 3600000 (1 hour)"
        raise KafkaError(ErrorCode.INVALID_REQUEST, words)
    selectors = parse_value(METRICS_SETTINGS["match"], configs.get("match", ""))
    if isinstance(selectors, tuple) and selectors:
        from barnabas.core.telemetry.selectors import parse_match  # RE2, which few clusters need for this

        parse_match(selectors)


def _check_link(configs: Mapping[str, str]) -> None:
    if not configs:
        return  # it is removed
    _check_values("link", LINK_SETTINGS, configs)
    if not configs.get("bootstrap.servers", "").strip():
        raise KafkaError(ErrorCode.INVALID_CONFIG, "a link needs bootstrap.servers: where the source is found")
    from barnabas.core.cluster.name_patterns import NamePatterns  # RE2, which few clusters need

    for name in ("topics", "groups"):
        value = parse_value(LINK_SETTINGS[name], configs.get(name, ".*"))
        NamePatterns.of(value if isinstance(value, tuple) else (), name)


def _check_values(kind: str, table: Mapping[str, Setting], configs: Mapping[str, str]) -> None:
    for name, value in configs.items():
        setting = table.get(name)
        if setting is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"unknown {kind} setting {name!r}")
        parse_value(setting, value)
