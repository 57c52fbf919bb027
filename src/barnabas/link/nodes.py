"""Blocking connections to the nodes of one cluster: one to any of them, and one to each that is asked by its id.

What answers say about the cluster is kept in `view`. A connection that broke is closed and opened anew by the next
request; the request itself is not repeated, because only its caller knows whether it may be.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.link.blocking_driver import BlockingLink
from barnabas.link.errors import LinkDown, Silent, Unreachable
from barnabas.link.view import Address, ClientMetadata
from barnabas.wire.apis import DESCRIBE_CLUSTER, FIND_COORDINATOR, METADATA
from barnabas.wire.codec import Decoded

if TYPE_CHECKING:
    from barnabas.wire.messages import MetadataResponse

_DESCRIBE_CLUSTER_NEWEST, _METADATA_NEWEST, _FIND_COORDINATOR_NEWEST = 0, 12, 4  # later ones add nothing that is used
_FIRST_OF_MANY_KEYS = 4  # of FindCoordinator


class Nodes:
    """`connect` opens a connection; `bootstrap` is where the cluster is found."""

    def __init__(self, bootstrap: Sequence[Address], connect: Callable[[str, int], BlockingLink]) -> None:
        self._bootstrap = bootstrap
        self._connect = connect
        self._any: BlockingLink | None = None
        self._links: dict[int, BlockingLink] = {}
        self.view = ClientMetadata()

    def close(self) -> None:
        self.drop_any()
        for node_id in list(self._links):
            self.drop(node_id)

    # --- any node ---------------------------------------------------------------------------------------------------

    def any(self, also: Iterable[Address] = ()) -> BlockingLink:
        """The node spoken to so far, else the first that answers of the bootstrap addresses and of `also`."""
        if self._any is None:
            problems: list[LinkDown] = []
            for host, port in dict.fromkeys([*self._bootstrap, *also]):
                try:
                    self._any = self._connect(host, port)
                    break
                except LinkDown as problem:
                    problems.append(problem)
            else:
                raise _all_of(problems)
        return self._any

    def ask_any(
        self, api_key: int, body: Mapping[str, object], newest: int | None = None, timeout_s: float | None = None
    ) -> Decoded:
        try:
            return self.any().ask(api_key, body, newest, timeout_s)
        except LinkDown:
            self.drop_any()
            raise

    def drop_any(self) -> None:
        if self._any is not None:
            self._any.close()
            self._any = None

    # --- one node ---------------------------------------------------------------------------------------------------

    def link(self, node_id: int) -> BlockingLink:
        found = self._links.get(node_id)
        if found is None:
            if node_id not in self.view.addresses:
                self.look_up([])
            if node_id not in self.view.addresses:
                raise Unreachable(f"node {node_id} is not there")
            found = self._links[node_id] = self._connect(*self.view.addresses[node_id])
        return found

    def ask(self, node_id: int, api_key: int, body: Mapping[str, object], newest: int | None = None) -> Decoded:
        try:
            return self.link(node_id).ask(api_key, body, newest)
        except LinkDown:
            self.drop(node_id)
            raise

    def drop(self, node_id: int) -> None:
        """The connection broke, or what it said is not to be trusted."""
        link = self._links.pop(node_id, None)
        if link is not None:
            link.close()

    # --- the cluster ------------------------------------------------------------------------------------------------

    def node_ids(self) -> list[int]:
        """The nodes that are up, asked now."""
        self.view.learn_cluster(self.ask_any(DESCRIBE_CLUSTER, {}, _DESCRIBE_CLUSTER_NEWEST))
        return sorted(self.view.addresses)

    def look_up(self, topics: Iterable[str] | None, *, create: bool = False) -> "MetadataResponse":
        """Metadata of these topics, None for all; `create` those that do not exist, where the cluster does that."""
        wanted = None if topics is None else [{"name": name} for name in topics]
        body = {"topics": wanted, "allow_auto_topic_creation": create}
        answer: MetadataResponse = self.ask_any(METADATA, body, _METADATA_NEWEST)
        self.view.learn_metadata(answer)
        return answer

    def find_coordinators(self, kind: int, keys: Sequence[str]) -> dict[str, int]:
        """Asks who coordinates each key; gives the error codes of those without a coordinator."""
        failed: dict[str, int] = {}
        version = self.any().versions.must(FIND_COORDINATOR, _FIND_COORDINATOR_NEWEST)
        for asked in [keys] if version >= _FIRST_OF_MANY_KEYS else [[key] for key in keys]:
            body = {"key_type": kind, "key": asked[0], "coordinator_keys": asked}
            answer = self.ask_any(FIND_COORDINATOR, body, version)
            failed |= self.view.learn_coordinators(kind, asked, answer)
        return failed


def _all_of(problems: Sequence[LinkDown]) -> LinkDown:
    """One exception with the reasons of all: of their kind, if they have one, and Silent as soon as one node is there
    and does not answer."""
    kinds = {type(each) for each in problems}
    kind = Silent if Silent in kinds else kinds.pop() if len(kinds) == 1 else LinkDown
    found = kind("; ".join(dict.fromkeys(str(each) for each in problems)))
    found.reason = "; ".join(dict.fromkeys(each.reason for each in problems))
    return found
