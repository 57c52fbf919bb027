"""The links of a cluster as its nodes tell them now, and how fast they go (operate/cluster_links.py)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from barnabas.console.clusters.reading import of_all
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.codes import name_of
from barnabas.link.errors import UnknownApi
from barnabas.operate.cluster_links import Progress, rates
from barnabas.wire.apis import DESCRIBE_CONFIGS, DESCRIBE_LINKS

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeConfigsResponse, DescribeLinksResponse

LINK = 64  # of requests about settings
_ANSWER_SECONDS = 10.0
_SAMPLE_SECONDS = 1.0  # a shorter one would show single fetches, not a rate


@dataclass(slots=True)
class Links:
    links: dict[str, Progress] = field(default_factory=dict)
    silent: list[int] = field(default_factory=list)  # nodes that did not answer: their partitions are missing
    cannot: bool = False  # no node knows links: it is Apache Kafka
    refused: str = ""  # why none are told


async def read_links(nodes: AsyncNodes, node_ids: Collection[int], names: Iterable[str] = ()) -> Links:
    """All of them, or those of these names."""
    found = Links()
    body = {"names": list(names)}
    silent, cannot = set(node_ids), set[int]()

    async def ask(node: int) -> None:
        try:
            answer: DescribeLinksResponse = await nodes.ask(node, DESCRIBE_LINKS, body, timeout_s=_ANSWER_SECONDS)
        except UnknownApi:
            cannot.add(node)
            silent.discard(node)
            return
        silent.discard(node)
        if answer.error_code:
            found.refused = answer.error_message or name_of(answer.error_code)
        for link in answer.links:
            found.links.setdefault(link.name, Progress(link.name)).add(link)

    await of_all(ask(node) for node in node_ids)
    found.silent = sorted(silent)
    found.cannot = bool(node_ids) and len(cannot) == len(node_ids)
    return found


async def read_link_settings(nodes: AsyncNodes, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Without secrets, which nodes do not tell; without links whose settings the person may not see."""
    resources = [{"resource_type": LINK, "resource_name": name, "configuration_keys": None} for name in names]
    if not resources:
        return {}
    body = {"resources": resources, "include_synonyms": False, "include_documentation": False}
    answer: DescribeConfigsResponse = await nodes.ask_any(DESCRIBE_CONFIGS, body)
    return {
        each.resource_name: {one.name: one.value for one in each.configs if one.value is not None}
        for each in answer.results
        if not each.error_code
    }


class Rate(NamedTuple):
    records: float
    bytes: float


class LinkRates:
    """Between two looks of whoever looks: for all tabs of a person together."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, Progress, Rate | None]] = {}

    def looked(self, found: Mapping[str, Progress], now: float) -> dict[str, Rate | None]:
        """None: it was not seen before. `found` are all links."""
        told: dict[str, tuple[float, Progress, Rate | None]] = {}
        for name, progress in found.items():
            before = self._last.get(name)
            if before is None:
                told[name] = now, progress, None
            elif now - before[0] < _SAMPLE_SECONDS:
                told[name] = before
            else:
                told[name] = now, progress, Rate(*rates(progress, before[1], now - before[0]))
        self._last = told
        return {name: rate for name, (_, _, rate) in told.items()}
