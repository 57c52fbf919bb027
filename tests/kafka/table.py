"""The table of Apache Kafka's own test classes (classes.toml): which run, which of their tests fail and why."""

from __future__ import annotations

import fnmatch
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

TABLE = Path(__file__).with_name("classes.toml")


@dataclass(frozen=True)
class TestClass:
    """`fails`: patterns over the names of methods, each with the reason. `not_run`: why none of it is run."""

    name: str
    not_run: str = ""
    short: tuple[str, ...] = ()  # methods of the short slice in `make test`
    fails: dict[str, str] = field(default_factory=dict)

    @property
    def simple_name(self) -> str:
        return self.name.rpartition(".")[2]

    def expected_failure(self, method: str) -> str | None:
        return next((why for pattern, why in self.fails.items() if fnmatch.fnmatchcase(method, pattern)), None)


def read_table(path: Path = TABLE) -> list[TestClass]:
    with path.open("rb") as file:
        rows = tomllib.load(file)
    return [
        TestClass(f"{package}.{name}", row.get("not_run", ""), tuple(row.get("short", ())), dict(row.get("fails", {})))
        for package, classes in rows.items()
        for name, row in classes.items()
    ]
