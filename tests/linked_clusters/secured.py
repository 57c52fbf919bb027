"""Two clusters that were secured by one flag, and how commands on the machine of the target log in at the source."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.security.test_one_word import Secured, is_free, start, stop
from tests.support.process import free_port

RIGHTS = (("read,describe,describe-configs", "topic:*"), ("describe", "group:*"), ("describe", "cluster"))


@contextmanager
def secured_pair(folder: Path, *of_target: str, debug: bool = False) -> Iterator[tuple[Secured, Secured]]:
    """`of_target` is typed for the target; a cluster of several nodes has ports that follow each other."""
    made: list[Secured] = []
    try:
        for name, words in (("source", ()), ("target", of_target)):
            (folder / name).mkdir()
            if debug:
                words = (*words, "--log-level", "debug")
            port = next(found for found in iter(free_port, 0) if all(is_free(found + more) for more in range(3)))
            made.append(start(folder / name, *words, port=port))
        yield made[0], made[1]
    finally:
        for secured in made:
            stop(secured)


def log_in_with(source: Secured, target: Secured, password: str, protocol: str = "SASL_SSL") -> None:
    """The profile of the source, for commands on the machine of the target."""
    profile = Path(target.environ["XDG_CONFIG_HOME"]) / "barnabas" / "client.toml"
    profile.parent.mkdir(parents=True, exist_ok=True)
    profile.write_text(
        f"""
        [source]
        bootstrap = "{source.bootstrap}"
        security.protocol = "{protocol}"
        sasl.mechanism = "SCRAM-SHA-512"
        sasl.username = "linker"
        sasl.password = "{password}"
        ssl.ca.location = "{source.folder / "ca.pem"}"
        """
    )
    profile.chmod(0o600)


def make_linker(source: Secured, password: str) -> None:
    """The user of the link, with the rights that docs/clusters.md names."""
    source.ok("user", "create", "linker", "--password-file", "-", stdin=password)
    for operations, resource in RIGHTS:
        source.ok("acl", "add", "linker", operations, resource)


def status(target: Secured) -> Any:
    """Whatever it exits with."""
    return json.loads(target.run("link", "status", "east", "--json").stdout)
