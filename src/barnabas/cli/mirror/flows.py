"""The clusters of a mirror as they are typed: EAST=HOST:PORT WEST=HOST:PORT, or a file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.common.failure import Failure, usage

if TYPE_CHECKING:
    from barnabas.connect.connectors.mirror.flows import Flow
    from barnabas.connect.contract import Options
    from barnabas.connect.definition.definition import Engine


def is_file(words: Sequence[str]) -> bool:
    return len(words) == 1 and "=" not in words[0]


def command(word: str, flows: Sequence[Flow], words: Sequence[str]) -> str:
    """To be pasted, about these flows. A file is named again: it has the logins, too."""
    if is_file(words):
        return f"barnabas mirror {word} {shlex.quote(words[0])}"
    sides = [side for flow in flows for side in (flow.options.source, flow.options.target)]
    named = {each.name: shlex.quote(f"{each.name}={each.bootstrap}") for each in sides}
    both = " --both" if len(flows) > len(named) - 1 else ""
    return f"barnabas mirror {word} {' '.join(named.values())}{both}"


def flows_typed(words: Sequence[str], both: bool, options: Options, engine: Engine = "process") -> list[Flow]:
    """Failure with the exit code of wrong usage, for words and files that make no sense."""
    from barnabas.connect.errors import BadOption

    try:
        return _flows(words, both, options, engine)
    except BadOption as problem:
        raise usage(problem.message, problem.way_out) from None


def _flows(words: Sequence[str], both: bool, options: Options, engine: Engine) -> list[Flow]:
    from barnabas.connect.connectors.mirror.flows import flows_between, load_flows, pairs_of

    if is_file(words):
        if not os.access(words[0], os.R_OK) or not Path(words[0]).is_file():
            raise Failure(f"{words[0]} is no file that can be read", "Name a file, or clusters as NAME=HOST:PORT.")
        if both or options:
            raise usage("a file says everything about a mirror itself", "Leave the options out.")
        return load_flows(Path(words[0]))
    clusters: dict[str, Options] = {}
    for word in words:
        name, equals, address = word.partition("=")
        if not equals or not name or not address:
            raise usage(f"{word!r} is not NAME=HOST:PORT", "Write: barnabas mirror run east=HOST:PORT west=HOST:PORT.")
        if name in clusters:
            raise usage(f"two clusters are called {name!r}", "Give each a name of its own.")
        clusters[name] = {"bootstrap": address}
    if len(clusters) < 2:
        raise usage("a mirror needs two clusters", "Write: barnabas mirror run east=HOST:PORT west=HOST:PORT.")
    return flows_between(clusters, pairs_of(list(clusters), both), options, engine)
