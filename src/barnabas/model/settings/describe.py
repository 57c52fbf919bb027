"""Every setting of a resource as DescribeConfigs shows it: value, source, what stands behind it, type and purpose."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from barnabas.model.settings.effective import Settings, Synonym
from barnabas.model.settings.kinds import ConfigSource, Setting, UpdateMode, parse_value, value_text
from barnabas.model.settings.tables import (
    GROUP_SETTINGS,
    LINK_SETTINGS,
    METRICS_SETTINGS,
    NODE_SETTINGS,
    TOPIC_SETTINGS,
)

_DEFAULT = ConfigSource.DEFAULT


class ConfigEntry(NamedTuple):
    name: str
    value: str | None
    read_only: bool
    source: ConfigSource
    sensitive: bool
    synonyms: list[Synonym]
    type: int
    doc: str


def topic_entries(settings: Settings, overrides: Mapping[str, str]) -> Iterator[ConfigEntry]:
    view = settings.topic(overrides)
    for name, row in TOPIC_SETTINGS.items():
        if not row.internal or name in overrides or (row.synonyms and view.synonyms(name)[0].source is not _DEFAULT):
            yield _entry(row, value_text(view[name]), view.synonyms(name))


def node_entries(settings: Settings, stored: Mapping[str, str]) -> Iterator[ConfigEntry]:
    """`stored` are the dynamic settings, among which names may be that only a plugin would know."""
    for name, row in NODE_SETTINGS.items():
        if not row.internal or name in stored or settings.source(name) is not ConfigSource.DEFAULT:
            yield _entry(row, value_text(settings[name]), settings.synonyms(name))
    for name, text in stored.items():
        if name not in NODE_SETTINGS:
            yield _stored_name(name, text, ConfigSource.DYNAMIC_NODE)


def cluster_entries(stored: Mapping[str, str]) -> Iterator[ConfigEntry]:
    """The settings of all brokers together: only those that were set."""
    for name, text in stored.items():
        row = NODE_SETTINGS.get(name)
        if row is None:
            yield _unknown(name, ConfigSource.DYNAMIC_CLUSTER)
        else:
            shown = None if row.sensitive else value_text(parse_value(row, text))
            yield _entry(row, shown, [Synonym(name, shown, ConfigSource.DYNAMIC_CLUSTER)])


def group_entries(settings: Settings, overrides: Mapping[str, str]) -> Iterator[ConfigEntry]:
    for name, row in GROUP_SETTINGS.items():
        if row.synonyms:
            synonyms = settings.synonyms(row.synonyms[0])
        else:
            synonyms = [Synonym(name, value_text(row.default), ConfigSource.DEFAULT)]
        yield _stored(row, overrides, synonyms, ConfigSource.GROUP)


def metrics_entries(overrides: Mapping[str, str]) -> Iterator[ConfigEntry]:
    for row in METRICS_SETTINGS.values():
        yield _stored(row, overrides, [], ConfigSource.CLIENT_METRICS)


def link_entries(overrides: Mapping[str, str]) -> Iterator[ConfigEntry]:
    for row in LINK_SETTINGS.values():
        yield _stored(row, overrides, [], ConfigSource.DYNAMIC_CLUSTER)


def _stored(row: Setting, overrides: Mapping[str, str], behind: list[Synonym], source: ConfigSource) -> ConfigEntry:
    text = overrides.get(row.name)
    if text is None:
        return _entry(row, behind[0].value if behind else value_text(row.default), behind)
    shown = None if row.sensitive else value_text(parse_value(row, text))
    return _entry(row, shown, [Synonym(row.name, shown, source), *behind], source)


def _entry(row: Setting, value: str | None, synonyms: list[Synonym], source: ConfigSource | None = None) -> ConfigEntry:
    found = source or (synonyms[0].source if synonyms else ConfigSource.DEFAULT)
    shown = None if row.sensitive else value
    return ConfigEntry(
        row.name, shown, row.update_mode is UpdateMode.READ_ONLY, found, row.sensitive, synonyms, int(row.type), row.doc
    )


def _stored_name(name: str, text: str, source: ConfigSource) -> ConfigEntry:
    """A stored name that is no row: a setting of one listener (`listener.name.NAME.SETTING`), or what nobody knows,
    which may be a secret."""
    row = listener_setting(name)
    if row is None or row.sensitive:
        return _unknown(name, source)
    return _entry(row, text, [Synonym(name, text, source)], source)._replace(name=name)


def listener_setting(name: str) -> Setting | None:
    """The row behind `listener.name.NAME.SETTING` (KIP-103)."""
    prefix, _, rest = name.partition("listener.name.")
    return NODE_SETTINGS.get(rest.partition(".")[2]) if not prefix and rest else None


def _unknown(name: str, source: ConfigSource) -> ConfigEntry:
    """What nobody knows may be a secret."""
    return ConfigEntry(name, None, False, source, True, [Synonym(name, None, source)], 0, "")
