"""The table of Apache Kafka's own test classes (classes.toml): which run, which of their tests fail and why."""

from __future__ import annotations

import fnmatch
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

TABLE = Path(__file__).with_name("classes.toml")


@dataclass(frozen=True)
class KafkaClass:
    """`fails`, `unsteady` and `skips`: patterns over the names of methods, each with the reason. Those of `fails`
    always fail, those of `unsteady` at times, by a race or a time limit of their own; those of `skips` are not run.
    `not_run`: why nothing of the class is run."""

    name: str
    not_run: str = ""
    short: tuple[str, ...] = ()  # methods of the short slice in `make test`
    fails: dict[str, str] = field(default_factory=dict)
    skips: dict[str, str] = field(default_factory=dict)
    unsteady: dict[str, str] = field(default_factory=dict)

    @property
    def simple_name(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def methods(self) -> str:
        """All that are run, as a regular expression that Java understands."""
        left_out = "|".join(pattern.replace("*", ".*") for pattern in self.skips)
        return f"(?!(?:{left_out})$).*" if left_out else ".*"

    def expected_failure(self, method: str) -> str | None:
        patterns = [*self.fails.items(), *self.unsteady.items()]
        return next((why for pattern, why in patterns if fnmatch.fnmatchcase(method, pattern)), None)


def read_table(path: Path = TABLE) -> list[KafkaClass]:
    with path.open("rb") as file:
        rows = tomllib.load(file)
    return [
        KafkaClass(
            f"{package}.{name}",
            row.get("not_run", ""),
            tuple(row.get("short", ())),
            dict(row.get("fails", {})),
            dict(row.get("skips", {})),
            dict(row.get("unsteady", {})),
        )
        for package, classes in rows.items()
        for name, row in classes.items()
    ]
