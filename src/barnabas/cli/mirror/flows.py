"""The clusters of a mirror as they are typed: EAST=HOST:PORT WEST=HOST:PORT, or a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.common.failure import usage

if TYPE_CHECKING:
    from barnabas.connect.connectors.mirror.flows import Flow
    from barnabas.connect.contract import Options
    from barnabas.connect.definition.definition import Engine


def flows_typed(words: Sequence[str], both: bool, options: Options, engine: Engine = "process") -> list[Flow]:
    """Raises BadOption, and Failure for words that make no sense."""
    from barnabas.connect.connectors.mirror.flows import flows_between, load_flows, pairs_of
    from barnabas.connect.connectors.mirror.options import Patterns

    if len(words) == 1 and "=" not in words[0]:
        if both or options:
            raise usage("a file says everything about a mirror itself", "Leave the options out.")
        return load_flows(Path(words[0]))
    for option in ("topics", "groups"):  # before anything is started that would only say so in its log
        if isinstance(expressions := options.get(option), list):
            Patterns(option, expressions)
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
