"""`spark:` in a definition: which Spark to use, and how long a round is.

    engine: spark
    spark: {master: "spark://spark.example.org:7077", round_s: 10, spark.executor.memory: 2g}

Master and settings are taken from the file that somebody runs, or from the command line, never from a definition in
the cluster: with settings of Spark one can run any program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from barnabas.connect.errors import BadOption
from barnabas.connect.hints import hint

if TYPE_CHECKING:
    from barnabas.connect.definition.definition import Definition

ROUND_S = 5.0
_ROUND_S_MOST = 600.0
_CONF_MOST = 200
_WORDS = ("master", "round_s")
_MASTERS = ("local", "spark://", "yarn", "k8s://")


class SparkSettings(msgspec.Struct, frozen=True, kw_only=True):
    master: str = ""  # empty: Spark in a process beside this one
    round_s: float = ROUND_S
    conf: dict[str, str] = {}


def read(given: Mapping[str, Any]) -> SparkSettings:  # Any: what stands in YAML
    conf = {name: value for name, value in given.items() if name.startswith("spark.")}
    for word in given:
        if word not in _WORDS and word not in conf:
            raise BadOption(f"spark: there is no {word!r} here", hint(word, [*_WORDS, "spark.executor.memory"]))
    if len(conf) > _CONF_MOST:
        raise BadOption(f"spark: at most {_CONF_MOST} settings")
    master, round_s = given.get("master", ""), given.get("round_s", ROUND_S)
    if isinstance(round_s, bool) or not isinstance(round_s, int | float) or not 1 <= round_s <= _ROUND_S_MOST:
        raise BadOption(f"spark: round_s is 1 to {_ROUND_S_MOST:.0f} seconds, not {round_s!r}")
    for name, value in conf.items():
        if not isinstance(value, str | int | float | bool):
            raise BadOption(f"spark: {name} is one value, not {value!r}")
    return SparkSettings(
        master=checked_master(master), round_s=float(round_s), conf={name: _text(each) for name, each in conf.items()}
    )


def checked_master(master: object) -> str:
    if isinstance(master, str) and (not master or master.startswith(_MASTERS)):
        return master
    if isinstance(master, str) and master.startswith("sc://"):
        raise BadOption(
            f"spark: {master!r} is Spark Connect, which runs no tasks of connectors", "Give its master: spark://..."
        )
    raise BadOption(f"spark: master is local[4], spark://HOST:PORT, yarn or k8s://..., not {master!r}")


def of_all(definitions: Sequence[Definition]) -> SparkSettings:
    """One process has one Spark."""
    found: SparkSettings | None = None
    first = ""
    for each in definitions:
        if each.engine != "spark":
            continue
        settings = read(each.spark)
        if found is not None and (settings.master, settings.conf) != (found.master, found.conf):
            raise BadOption(
                f"connectors {first} and {each.name} want Spark with different settings",
                "Say the same of both, or run each by a command of its own.",
            )
        found, first = found or settings, first or each.name
    return found or SparkSettings()


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
