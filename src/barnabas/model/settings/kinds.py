"""What a setting is: its type, the values it may have, who may change it and when.

One row of the table (`Setting`) makes three things: the command line's help, the page docs/settings.md and the answer
to DescribeConfigs. Text becomes a value in one place (`parse_value`) and a value becomes text in one place
(`value_text`), by the rules of Kafka's own configuration parser: blanks around a value do not count, a list is split
at commas, a whole number has the width of its type. Whatever does not fit is a `KafkaError` with INVALID_CONFIG and
one line that says why.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from barnabas.model.errors import ErrorCode, KafkaError

Value = bool | int | float | str | tuple[str, ...] | None


class ConfigType(IntEnum):
    """The numbers DescribeConfigs (v3+) uses for the type of a value."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigSource(IntEnum):
    """Where a value comes from, by the numbers of DescribeConfigs (v1+)."""

    TOPIC = 1
    DYNAMIC_NODE = 2
    DYNAMIC_CLUSTER = 3
    STATIC = 4
    DEFAULT = 5
    LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class ResourceType(IntEnum):
    """What a configuration belongs to, by the numbers of the *Configs requests."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32
    LINK = 64  # ours: a link from another cluster


class UpdateMode(StrEnum):
    """When a new value is taken: at start only, while running for one node, or while running for the whole cluster."""

    READ_ONLY = "read-only"
    PER_NODE = "per-node"
    CLUSTER_WIDE = "cluster-wide"


@dataclass(frozen=True, slots=True)
class Valid:
    """A rule for values: `text` for people, `problem` gives the reason against a value or None."""

    text: str
    problem: Callable[[Value], str | None]


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    type: ConfigType
    default: Value
    doc: str
    valid: Valid | None = None
    scope: ResourceType = ResourceType.BROKER
    update_mode: UpdateMode = UpdateMode.READ_ONLY
    synonyms: tuple[str, ...] = ()  # node settings that stand behind this one, the strongest first
    internal: bool = False  # known and obeyed, but not shown unless set (tests and tuning use them)
    effective: bool = True  # False: accepted so that files and tools work, but nothing here reads it

    @property
    def sensitive(self) -> bool:
        return self.type is ConfigType.PASSWORD


_WIDTH_BITS = {ConfigType.INT: 32, ConfigType.SHORT: 16, ConfigType.LONG: 64}
_COMMA = re.compile(r"\s*,\s*")


def parse_value(setting: Setting, text: str) -> Value:
    """The value that `text` stands for, or KafkaError(INVALID_CONFIG) with the reason."""
    value = _convert(setting, text.strip())
    problem = setting.valid.problem(value) if setting.valid else None
    if problem:
        raise _invalid(setting, text, problem)
    return value


def _convert(setting: Setting, text: str) -> Value:
    match setting.type:
        case ConfigType.BOOLEAN:
            if text.lower() not in ("true", "false"):
                raise _invalid(setting, text, "expected true or false")
            return text.lower() == "true"
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG:
            bits = _WIDTH_BITS[setting.type]
            if not re.fullmatch(r"[+-]?[0-9]{1,20}", text):
                raise _invalid(setting, text, f"expected a whole number of {bits} bits")
            number = int(text)
            if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
                raise _invalid(setting, text, f"the number does not fit in {bits} bits")
            return number
        case ConfigType.DOUBLE:
            try:
                return float(text)
            except ValueError:
                raise _invalid(setting, text, "expected a number") from None
        case ConfigType.LIST:
            return tuple(dict.fromkeys(_COMMA.split(text))) if text else ()  # an item twice counts once (KIP-1161)
        case _:
            return text


def value_text(value: Value) -> str | None:
    """How Kafka writes the value: the text of DescribeConfigs, which `parse_value` reads back to the same value."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case tuple():
            return ",".join(value)
        case float():
            return _double_text(value)
        case _:
            return str(value)


def _double_text(value: float) -> str:
    """Java's notation of a double, which keeps a digit after the point and writes E instead of e+."""
    if math.isinf(value) or math.isnan(value):
        return {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
    mantissa, _, exponent = repr(value).partition("e")
    if exponent:
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"
    return mantissa


def _invalid(setting: Setting, text: str, problem: str) -> KafkaError:
    shown = "(hidden)" if setting.sensitive else repr(text if len(text) <= 80 else text[:77] + "...")
    return KafkaError(ErrorCode.INVALID_CONFIG, f"{setting.name}={shown}: {problem}")
