"""The values a node runs with, from the strongest source that names each: dynamic for this node, dynamic for the
cluster, static (flags, environment, files: broker/settings/sources.py has already put those in order), default.

`Settings` is immutable: a dynamic change makes a new one, so a reader never sees half of it. A topic's settings are
seen through `Settings.topic(overrides)`: its own override, else the node's setting behind it (`retention.ms` <-
`log.retention.ms`, else `log.retention.minutes`, else `log.retention.hours`, in the unit of the topic's setting),
else the default. Synonyms are listed as Kafka lists them, because tools show them to people.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings.kinds import ConfigSource, Setting, Value, parse_value, value_text
from barnabas.model.settings.listeners import Listener, parse_listeners, protocol_map
from barnabas.model.settings.tables import GROUP_SETTINGS, NODE_SETTINGS, TOPIC_SETTINGS
from barnabas.model.settings.typed import TypedValues


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class StaticValue:
    """A value from outside and where it stood, so that a complaint can name the place."""

    text: str = field(repr=False)  # may be a password
    origin: str = ""


# A node's settings of the same meaning, the strongest first (Kafka's broker synonyms).
_FAMILIES = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_FAMILY = {name: family for family in _FAMILIES for name in family}
_TO_MS = {"minutes": 60_000, "hours": 3_600_000}
_OF_LISTENER = "listener.name."
_DEFAULTS: dict[str, Value] = {name: setting.default for name, setting in NODE_SETTINGS.items()}


class Settings(TypedValues):
    """What `settings["log.segment.bytes"]` is, and why."""

    __slots__ = ("_advertised", "_dynamic_cluster", "_dynamic_node", "_of_listeners", "_static", "_values", "origins")

    def __init__(
        self,
        static: Mapping[str, str | StaticValue] | None = None,
        *,
        dynamic_cluster: Mapping[str, str] | None = None,
        dynamic_node: Mapping[str, str] | None = None,
    ) -> None:
        given = {n: v if isinstance(v, StaticValue) else StaticValue(v) for n, v in (static or {}).items()}
        self._advertised: list[Listener] | None = None
        self.origins: dict[str, str] = {name: value.origin for name, value in given.items()}
        self._static = {name: _parse_static(name, value) for name, value in given.items() if name in NODE_SETTINGS}
        self._of_listeners = {name.lower(): value for name, value in given.items() if _is_of_listener(name)}
        self._dynamic_cluster = _parse_dynamic(dynamic_cluster or {})
        self._dynamic_node = _parse_dynamic(dynamic_node or {})
        self._values = {**_DEFAULTS, **self._static, **self._dynamic_cluster, **self._dynamic_node}
        if self._values["broker.id"] != self._values["node.id"]:  # the old name of the same thing (KIP-500)
            name = "broker.id" if "broker.id" in self._static and "node.id" not in self._static else "node.id"
            self._values["broker.id"] = self._values["node.id"] = self._values[name]

    def with_dynamic(self, *, cluster: Mapping[str, str], node: Mapping[str, str]) -> "Settings":
        """The same static values under other dynamic ones. What cannot be read here is left out, not fatal."""
        new = Settings.__new__(Settings)
        new.origins, new._static, new._advertised = self.origins, self._static, None
        dynamic = {name.lower(): StaticValue(text) for name, text in (*cluster.items(), *node.items())}
        new._of_listeners = self._of_listeners | {name: v for name, v in dynamic.items() if _is_of_listener(name)}
        new._dynamic_cluster, new._dynamic_node = _parse_dynamic(cluster), _parse_dynamic(node)
        identity = {"broker.id": self._values["broker.id"], "node.id": self._values["node.id"]}
        new._values = {**_DEFAULTS, **self._static, **new._dynamic_cluster, **new._dynamic_node, **identity}
        return new

    # --- values -------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def source(self, name: str) -> ConfigSource:
        """Where the value comes from; a value that follows from a synonym counts as Kafka counts it: a default."""
        found = self.synonyms(name)
        return found[0].source if found else ConfigSource.DEFAULT

    def synonyms(self, name: str) -> list[Synonym]:
        """Every value behind the setting that is not null, from the strongest source to the default."""
        family = _FAMILY.get(name, (name,))
        layers = (
            (ConfigSource.DYNAMIC_NODE, self._dynamic_node),
            (ConfigSource.DYNAMIC_CLUSTER, self._dynamic_cluster),
            (ConfigSource.STATIC, self._static),
            (ConfigSource.DEFAULT, _DEFAULTS),
        )
        found = [
            Synonym(member, None if NODE_SETTINGS[member].sensitive else value_text(layer[member]), source)
            for source, layer in layers
            for member in family
            if layer.get(member) is not None
        ]
        while found and found[0].name != name:  # Kafka's list begins with the setting's own name
            found.pop(0)
        return found

    # --- of one listener ------------------------------------------------------------------------------------------

    def listener_text(self, listener: str, name: str) -> str | None:
        """What was set as `listener.name.LISTENER.NAME`, for names that only exist so (a mechanism's own)."""
        found = self._of_listeners.get(f"{_OF_LISTENER}{listener}.{name}".lower())
        return None if found is None else found.text

    def listener_value(self, listener: str, name: str) -> Value:
        """A setting of one listener (KIP-103): its own, else that of the node."""
        found = self._of_listeners.get(f"{_OF_LISTENER}{listener}.{name}".lower())
        return self[name] if found is None else _parse_static(name, found)

    def mechanism_value(self, listener: str, mechanism: str, name: str) -> Value:
        """A setting of one mechanism of a listener: its own, else that of the listener, else that of the node."""
        found = self._of_listeners.get(f"{_OF_LISTENER}{listener}.{mechanism}.{name}".lower())
        return self.listener_value(listener, name) if found is None else _parse_static(name, found)

    def listener_int(self, listener: str, name: str) -> int:
        value = self.listener_value(listener, name)
        assert isinstance(value, int), name
        return value

    def addresses(self, name: str) -> dict[str, int]:
        """Of a setting that has ADDRESS:NUMBER, separated by commas."""
        pairs = (item.rpartition(":") for item in self.str(name).split(",") if item.strip())
        return {address.strip(): int(number) for address, _, number in pairs}

    # --- what hangs on them -------------------------------------------------------------------------------------

    def topic(self, overrides: Mapping[str, str]) -> "TopicSettings":
        return TopicSettings(self, overrides)

    def topic_default(self, setting: Setting) -> tuple[Value, ConfigSource]:
        """A topic setting without an override: the strongest source that has one of its synonyms."""
        for source, layer in (
            (ConfigSource.DYNAMIC_NODE, self._dynamic_node),
            (ConfigSource.DYNAMIC_CLUSTER, self._dynamic_cluster),
            (ConfigSource.STATIC, self._static),
        ):
            for name in setting.synonyms:
                value = layer.get(name)
                if value is not None:
                    return in_topic_unit(name, value), source
        return setting.default, ConfigSource.DEFAULT

    def data_directories(self) -> tuple[str, ...]:
        return self.list("log.dirs") or self.list("log.dir")

    def client_listeners(self) -> list[Listener]:
        """Where clients are served. The quorum's own listeners are not among them."""
        return self._client_only("listeners", self.list("listeners"))

    def controller_listeners(self) -> list[Listener]:
        """Where the quorum is served, when it has listeners of its own."""
        controller = self._controller_names()
        found = parse_listeners("listeners", self.list("listeners"), self._protocols())
        return [listener for listener in found if listener.name in controller]

    def inter_broker_listener(self) -> Listener | None:
        """Which of its listeners brokers use among themselves: by name, by protocol, else the first one."""
        listeners = self.client_listeners()
        name = str(self["inter.broker.listener.name"] or "").upper()
        if not name and self.source("security.inter.broker.protocol") is not ConfigSource.DEFAULT:
            name = self.str("security.inter.broker.protocol")
        first = listeners[0] if listeners else None
        return next((found for found in listeners if found.name == name), first)

    def quorum_listener(self) -> tuple[str, str] | None:
        """(name, protocol) of the listener on which controllers are reached; None: that of the brokers."""
        own = self.controller_listeners()
        if own:
            return own[0].name, own[0].protocol
        named = "controller.listener.names" in self._static and self.list("controller.listener.names")
        if "controller" in self.list("process.roles") or not named:
            return None  # a controller without a listener of its own is reached where its clients are
        name = self.list("controller.listener.names")[0].upper()
        return name, self._protocols()[name]

    def _controller_names(self) -> set[str]:
        return {item.upper() for item in self.list("controller.listener.names")}

    def advertised_listeners(self) -> list[Listener]:
        """What clients are told, when the operator said so; empty otherwise."""
        if self._advertised is None:
            self._advertised = self._client_only("advertised.listeners", self.list("advertised.listeners"))
        return self._advertised

    def _client_only(self, name: str, items: tuple[str, ...]) -> list[Listener]:
        controller = self._controller_names()
        return [found for found in parse_listeners(name, items, self._protocols()) if found.name not in controller]

    def _protocols(self) -> dict[str, str]:
        default = dict.fromkeys(self._controller_names(), "PLAINTEXT")
        return default | protocol_map(self.str("listener.security.protocol.map"))


class TopicSettings(TypedValues, Mapping[str, Value]):
    """One topic's effective settings, each found when asked for."""

    __slots__ = ("_overrides", "_settings")

    def __init__(self, settings: Settings, overrides: Mapping[str, str]) -> None:
        self._settings = settings
        self._overrides = overrides

    def __getitem__(self, name: str) -> Value:
        return self.resolve(name)[0]

    def __iter__(self) -> Iterator[str]:
        return iter(TOPIC_SETTINGS)

    def __len__(self) -> int:
        return len(TOPIC_SETTINGS)

    def resolve(self, name: str) -> tuple[Value, ConfigSource]:
        setting = TOPIC_SETTINGS[name]
        text = self._overrides.get(name)
        if text is not None:
            return parse_value(setting, text), ConfigSource.TOPIC
        return self._settings.topic_default(setting)

    def synonyms(self, name: str) -> list[Synonym]:
        setting = TOPIC_SETTINGS[name]
        behind = self._settings.synonyms(setting.synonyms[0]) if setting.synonyms else []
        text = self._overrides.get(name)
        own = [] if text is None else [Synonym(name, value_text(parse_value(setting, text)), ConfigSource.TOPIC)]
        return own + behind


def group_settings(settings: Settings, overrides: Mapping[str, str]) -> dict[str, Value]:
    """One group's effective settings: its override, else the node's setting behind it, else the default."""
    found: dict[str, Value] = {}
    for name, setting in GROUP_SETTINGS.items():
        text = overrides.get(name)
        if text is not None:
            found[name] = parse_value(setting, text)
        else:
            found[name] = settings[setting.synonyms[0]] if setting.synonyms else setting.default
    return found


def in_topic_unit(name: str, value: Value) -> Value:
    """A node's minutes or hours as the topic's milliseconds; anything negative means "for ever"."""
    factor = _TO_MS.get(name.rpartition(".")[2])
    if factor is None or not isinstance(value, int):
        return value
    return -1 if value < 0 else value * factor


def _is_of_listener(name: str) -> bool:
    return name.lower().startswith(_OF_LISTENER)


def _parse_static(name: str, value: StaticValue) -> Value:
    try:
        return parse_value(NODE_SETTINGS[name], value.text)
    except KafkaError as error:
        where = f"{value.origin}: " if value.origin else ""
        raise KafkaError(ErrorCode.INVALID_CONFIG, where + error.message) from None


def _parse_dynamic(given: Mapping[str, str]) -> dict[str, Value]:
    """Dynamic values were checked when they were set; one that a later release no longer reads is passed over."""
    found: dict[str, Value] = {}
    for name, text in given.items():
        if name in NODE_SETTINGS:
            try:
                found[name] = parse_value(NODE_SETTINGS[name], text)
            except KafkaError:
                continue
    return found
