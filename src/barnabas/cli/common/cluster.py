"""A cluster as the commands ask it, for what no client library offers: one request, one answer, bounded waits.

On link/, with the command line's words for what may go wrong. Each request goes in the newest version of its API that
both sides know. How to log in says the client profile (client/common/profile.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from barnabas.cli.common import link as settings
from barnabas.cli.common.failure import Failure
from barnabas.cli.common.login import login_for
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, to_paste
from barnabas.link.blocking_driver import BlockingLink, LinkOptions
from barnabas.link.codes import name_of
from barnabas.link.errors import LinkDown, NotKafka, Silent, UnknownApi, Unreachable
from barnabas.link.nodes import Nodes
from barnabas.link.versions import NONE_IN_COMMON
from barnabas.link.view import TRANSACTION_KEY, Address
from barnabas.model.errors import ErrorCode
from barnabas.model.limits import CLI_ANSWER_MAX_BYTES
from barnabas.wire.apis import DESCRIBE_CONFIGS, METADATA
from barnabas.wire.codec import Decoded

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeConfigsResponse, MetadataResponse

ANSWER_S = 30.0  # for requests that wait for something at the other side
CLIENT_ID = "barnabas-cli"
_BROKER = 4  # Kafka's number of a node in requests about settings


def in_words(problem: LinkDown) -> str:
    """Why there is no answer, for a person; one line without the address."""
    if isinstance(problem, Unreachable):
        return problem.reason
    if isinstance(problem, Silent):
        return "connected, but no answer came: it may wait for its quorum or for TLS, or be another service"
    if isinstance(problem, NotKafka):
        return f"connected, but the answer is not Kafka's: {problem.reason}"
    return f"{problem.reason} before an answer came: it may be another service, or wait for TLS"


class NotServing(Failure):
    """It takes connections and does not answer: a node that does not serve clients yet."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"{where} takes connections, but does not answer: it waits for its quorum, or is another service",
            "The log of the node says what it waits for; a majority of the voters has to be up.",
        )


class Cluster:
    def __init__(self, bootstrap: str) -> None:
        from barnabas.client.common.connection import addresses

        self.bootstrap = bootstrap
        self._login = login_for(bootstrap)
        self._nodes = Nodes(addresses(bootstrap), self._connect)
        self._reach()
        try:
            self._nodes.node_ids()
        except LinkDown as problem:
            raise Failure(f"{bootstrap}: {in_words(problem)}") from None
        except UnknownApi as problem:
            raise _too_old(problem) from None
        self.brokers: dict[int, Address] = dict(self._nodes.view.addresses)

    def _connect(self, host: str, port: int) -> BlockingLink:
        options = LinkOptions(
            client_id=CLIENT_ID,
            connect_timeout_s=settings.CONNECT_TIMEOUT_S,
            opening_timeout_s=settings.SERVING_S,
            answer_timeout_s=ANSWER_S,
            answer_max_bytes=CLI_ANSWER_MAX_BYTES,
            tls=self._login.tls,
            credentials=self._login.credentials,
        )
        return BlockingLink(host, port, options)

    def _reach(self, also: Iterable[Address] = ()) -> None:
        from barnabas.client.errors import CannotReach

        try:
            self._nodes.any(also)
        except Silent:
            raise NotServing(self.bootstrap) from None
        except LinkDown as problem:
            if reason := self._tls_problem():
                raise CannotReach(self.bootstrap, reason) from None
            raise CannotReach(self.bootstrap, f"{in_words(problem)}. Is a node up? Try: barnabas up") from None

    def _tls_problem(self) -> str:
        """With the file that asks for TLS, and the way out; "" where it is something else."""
        from barnabas.client.common.connection import addresses
        from barnabas.client.common.profile import profile_for
        from barnabas.client.common.unreachable import tls_problem

        targets = addresses(self.bootstrap)
        return "" if self._login.tls is None else tls_problem(targets, profile_for(targets))

    def ask_any(self, api_key: int, body: Mapping[str, object]) -> Decoded:
        """One request to whichever node answers: the one spoken to so far, or, when it has gone, another."""
        try:
            return self._nodes.ask_any(api_key, body)
        except UnknownApi as problem:
            raise _too_old(problem) from None
        except LinkDown:
            self._reach(self.brokers.values())
        return self._ask_first(api_key, body)

    def speaks(self, api_key: int) -> bool:
        """Does the node that is spoken to know the API?"""
        return self._nodes.any(self.brokers.values()).versions.newest(api_key) != NONE_IN_COMMON

    def ask_briefly(self, api_key: int, body: Mapping[str, object], seconds: float) -> Decoded | None:
        """As `ask_any`, but None when no answer comes in time."""
        try:
            return self._nodes.ask_any(api_key, body, timeout_s=seconds)
        except UnknownApi as problem:
            raise _too_old(problem) from None
        except LinkDown:
            self._reach(self.brokers.values())
            return None

    def ask(self, node_id: int, api_key: int, body: Mapping[str, object]) -> Decoded:
        """One request to one node."""
        host, port = self.brokers[node_id]
        where = f"node {node_id} at {host}:{port}"
        try:
            link = self._nodes.link(node_id)
        except LinkDown as problem:
            raise Failure(
                f"cannot reach {where}: {in_words(problem)}", f"Find out more: {to_paste('doctor', self.bootstrap)}"
            ) from None
        try:
            return link.ask(api_key, body)
        except UnknownApi as problem:
            raise _too_old(problem) from None
        except LinkDown as problem:
            self._nodes.drop(node_id)
            raise Failure(f"{where}: {in_words(problem)}") from None

    def ask_at(self, address: Address, api_key: int, body: Mapping[str, object]) -> Decoded:
        """One request to whoever listens there, on a connection of its own: a controller that is no broker."""
        try:
            link = self._connect(*address)
            try:
                return link.ask(api_key, body)
            finally:
                link.close()
        except UnknownApi as problem:
            raise _too_old(problem) from None
        except LinkDown as problem:
            raise Failure(f"{address[0]}:{address[1]}: {in_words(problem)}") from None

    def _ask_first(self, api_key: int, body: Mapping[str, object]) -> Decoded:
        try:
            return self._nodes.ask_any(api_key, body)
        except UnknownApi as problem:
            raise _too_old(problem) from None
        except LinkDown as problem:
            raise Failure(f"{self.bootstrap}: {in_words(problem)}") from None

    def metadata(self, topics: list[str] | None) -> MetadataResponse:
        """The cluster's topics; None asks for all."""
        wanted = None if topics is None else [{"name": name} for name in topics]
        answer: MetadataResponse = self._ask_first(METADATA, {"topics": wanted, "allow_auto_topic_creation": False})
        return answer

    def node_settings(self, names: Iterable[str]) -> dict[str, str | None]:
        """These settings of one of the nodes; none where we may not see them."""
        for node_id in sorted(self.brokers):
            wanted = {"resource_type": _BROKER, "resource_name": str(node_id), "configuration_keys": list(names)}
            try:
                answer: DescribeConfigsResponse = self.ask(node_id, DESCRIBE_CONFIGS, {"resources": [wanted]})
            except Failure:  # it is down: another one tells the same
                continue
            return {each.name: each.value for result in answer.results for each in result.configs or ()}
        return {}

    def coordinator(self, transactional_id: str) -> int:
        """The node that decides about this id."""
        try:
            failed = self._nodes.find_coordinators(TRANSACTION_KEY, [transactional_id])
        except LinkDown as problem:
            raise Failure(f"{self.bootstrap}: {in_words(problem)}") from None
        found = self._nodes.view.coordinator(TRANSACTION_KEY, transactional_id)
        if failed or found is None:
            doing = f"find the coordinator of {transactional_id!r}"
            raise refused(failed.get(transactional_id, -1), doing, self.bootstrap)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._nodes.close()


def _too_old(problem: UnknownApi) -> Failure:
    return Failure(str(problem), "It is older than Kafka 3.0, or another kind of server.")


def refused(code: int, doing: str, bootstrap: str = DEFAULT_BOOTSTRAP, told: str | None = None) -> Failure:
    """A node's no as one line; `told`: what it says itself."""
    if code in (ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_LEADER_OR_FOLLOWER):
        way_out = f"See which voters are down: {to_paste('cluster status', bootstrap)}"
        return Failure(f"{doing}: the quorum has no leader", way_out)
    name = name_of(code)
    reason = f": {told}" if told and told.rstrip(".").lower() != name else ""  # Kafka's text may be the name again
    return Failure(f"{doing}: the cluster refused it: {name}{reason}")
