"""Shorthand for the tables beside this file: one call a row, two lines a row, so that a table reads as a table."""

from barnabas.model.settings.kinds import ConfigType, ResourceType, Setting, UpdateMode, Valid, Value

BOOLEAN, STRING, INT, SHORT, LONG = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.SHORT,
    ConfigType.LONG,
)
DOUBLE, LIST, CLASS, PASSWORD = ConfigType.DOUBLE, ConfigType.LIST, ConfigType.CLASS, ConfigType.PASSWORD
READ_ONLY, PER_NODE, CLUSTER_WIDE = UpdateMode.READ_ONLY, UpdateMode.PER_NODE, UpdateMode.CLUSTER_WIDE

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
DOUBLE_MAX = 1.7976931348623157e308


def node(
    name: str,
    kind: ConfigType,
    default: Value,
    valid: Valid | None = None,
    *,
    doc: str,
    mode: UpdateMode = READ_ONLY,
    internal: bool = False,
    effective: bool = True,
) -> Setting:
    return Setting(name, kind, default, doc, valid, ResourceType.BROKER, mode, (), internal, effective)


def topic(
    name: str,
    kind: ConfigType,
    default: Value,
    valid: Valid | None = None,
    *,
    doc: str,
    synonyms: tuple[str, ...] = (),
    internal: bool = False,
    effective: bool = True,
) -> Setting:
    return Setting(name, kind, default, doc, valid, ResourceType.TOPIC, CLUSTER_WIDE, synonyms, internal, effective)


def group(
    name: str,
    kind: ConfigType,
    default: Value,
    valid: Valid | None = None,
    *,
    doc: str,
    synonyms: tuple[str, ...] = (),
    effective: bool = True,
) -> Setting:
    return Setting(name, kind, default, doc, valid, ResourceType.GROUP, CLUSTER_WIDE, synonyms, False, effective)
