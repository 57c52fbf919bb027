"""Connections of one asyncio program to the nodes of one cluster: one to any of them, one to each that is asked by id.

The counterpart of nodes.py for a loop: requests to a node are pipelined on one connection, so a long poll belongs on
an AsyncNodes of its own. What answers say about the cluster is kept in `view`. A connection that broke is opened anew
by the next request; the request itself is not repeated, because only its caller knows whether it may be.
"""

import asyncio
import base64
import os
import socket
import ssl
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from barnabas.link.asyncio_driver import ANSWER_TIMEOUT_MS, AsyncLink
from barnabas.link.errors import LinkDown, LoginFailed, NotKafka, Unreachable
from barnabas.link.opening import Conversation, ask_versions
from barnabas.link.sasl import Credentials
from barnabas.link.versions import NodeVersions
from barnabas.link.view import Address, ClientMetadata
from barnabas.model.limits import LARGE_REQUEST_THREAD_BYTES
from barnabas.wire.apis import DESCRIBE_CLUSTER, FIND_COORDINATOR, METADATA
from barnabas.wire.codec import Decoded, decode_response, encode_request
from barnabas.wire.errors import ProtocolError

if TYPE_CHECKING:
    from barnabas.wire.messages import MetadataResponse

_DESCRIBE_CLUSTER_NEWEST, _METADATA_NEWEST, _FIND_COORDINATOR_NEWEST = 0, 12, 4  # later ones add nothing that is used
_FIRST_OF_MANY_KEYS = 4  # of FindCoordinator
_ANY = -1  # the connection to whichever node of the bootstrap addresses answered

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class AsyncOptions:
    client_id: str
    connect_timeout_s: float = 5.0
    answer_timeout_s: float = ANSWER_TIMEOUT_MS / 1000
    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None
    threads: Executor | None = None  # decode large answers, where the loop has others to serve


class Unread(NamedTuple):
    """An answer as it came."""

    api_key: int
    version: int
    data: bytes

    @property
    def digest(self) -> bytes:
        return blake2b(self.data, digest_size=16).digest()


@dataclass(slots=True)
class _Opened:
    link: AsyncLink
    versions: NodeVersions


class AsyncNodes:
    """`bootstrap` is where the cluster is found. Whatever ends a connection is a LinkDown; a refused login is
    LoginFailed; an API that the node does not know is UnknownApi."""

    def __init__(self, bootstrap: Sequence[Address], options: AsyncOptions) -> None:
        self._bootstrap = bootstrap
        self._options = options
        self._opened: dict[int, _Opened] = {}
        self._opening: dict[int, asyncio.Lock] = {}
        self._failed: dict[int, tuple[float, LinkDown | LoginFailed]] = {}
        self._outdated: set[AsyncLink] = set()
        self.view = ClientMetadata()

    def close(self) -> None:
        for link in [*(opened.link for opened in self._opened.values()), *self._outdated]:
            link.close()
        self._opened.clear()
        self._outdated.clear()

    def log_in_as(self, credentials: Credentials | None) -> None:
        """From the next request on, by a new connection; what is under way is answered on the old one."""
        self._options = replace(self._options, credentials=credentials)
        before = {opened.link for opened in self._opened.values()}
        self._opened.clear()
        self._outdated |= before
        if before:
            asyncio.get_running_loop().call_later(self._options.answer_timeout_s, self._close_outdated, before)

    def _close_outdated(self, links: set[AsyncLink]) -> None:
        for link in links & self._outdated:
            link.close()
        self._outdated -= links

    # --- asking -----------------------------------------------------------------------------------------------------

    async def ask_any(
        self, api_key: int, body: Mapping[str, object], newest: int | None = None, timeout_s: float | None = None
    ) -> Decoded:
        """In the newest version that both sides know, `newest` at most; any node may answer."""
        return await self._ask(_ANY, api_key, body, newest, timeout_s)

    async def ask(
        self,
        node_id: int,
        api_key: int,
        body: Mapping[str, object],
        newest: int | None = None,
        timeout_s: float | None = None,
    ) -> Decoded:
        return await self._ask(node_id, api_key, body, newest, timeout_s)

    async def ask_any_unread(self, api_key: int, body: Mapping[str, object], newest: int) -> Unread:
        """As `ask_any`, for an answer that is large and seldom new: who has seen the same bytes need not read them."""
        opened = await self._connection(_ANY)
        version = opened.versions.must(api_key, newest)
        timeout_ms = self._options.answer_timeout_s * 1000
        data = await opened.link.ask_raw(api_key, version, encode_request(api_key, version, body), timeout_ms)
        return Unread(api_key, version, bytes(data))

    async def read(self, answer: Unread) -> Decoded:
        """LinkDown where it is not what it should be."""
        loop, threads = asyncio.get_running_loop(), self._options.threads
        try:
            if threads is not None and len(answer.data) > LARGE_REQUEST_THREAD_BYTES:
                return await loop.run_in_executor(threads, decode_response, *answer)
            return decode_response(*answer)
        except ProtocolError as error:
            raise NotKafka(f"an answer that cannot be read: {error}") from None

    async def newest_version(self, node_id: int | None, api_key: int, at_most: int | None = None) -> int:
        """NONE_IN_COMMON where the node does not know the API; `node_id` None: whichever answers."""
        opened = await self._connection(_ANY if node_id is None else node_id)
        return opened.versions.newest(api_key, at_most)

    async def _ask(
        self, node_id: int, api_key: int, body: Mapping[str, object], newest: int | None, timeout_s: float | None
    ) -> Decoded:
        opened = await self._connection(node_id)
        version = opened.versions.must(api_key, newest)
        seconds = self._options.answer_timeout_s if timeout_s is None else timeout_s
        return await opened.link.ask(api_key, version, body, seconds * 1000, self._options.threads)

    # --- connections ------------------------------------------------------------------------------------------------

    async def open_to(self, node_id: int) -> tuple[AsyncLink, NodeVersions]:
        """A connection of the caller's own, for long polls; the caller closes it."""
        if node_id not in self.view.addresses:
            await self.look_up([])
        opened = await self._open_one(node_id)
        return opened.link, opened.versions

    async def _connection(self, node_id: int) -> _Opened:
        """Askers share one attempt to connect, and its failure: a node that does not answer holds all of them for the
        time of one, and a wrong password is tried once."""
        asked_at = asyncio.get_running_loop().time()
        async with self._opening.setdefault(node_id, asyncio.Lock()):
            found = self._opened.get(node_id)
            if found is not None and not found.link.closed:
                return found
            failed_at, why = self._failed.pop(node_id, (0.0, None))
            if why is not None and failed_at >= asked_at:
                self._failed[node_id] = failed_at, why
                raise why.with_traceback(None)
            try:
                found = self._opened[node_id] = await self._open_one(node_id)
            except (LinkDown, LoginFailed) as problem:
                self._failed[node_id] = asyncio.get_running_loop().time(), problem
                raise
            return found

    async def _open_one(self, node_id: int) -> _Opened:
        if node_id == _ANY:
            return await self._open_any()
        if node_id not in self.view.addresses:
            await self.look_up([])
        if node_id not in self.view.addresses:
            raise Unreachable(f"node {node_id} is not there")
        return await self._open(*self.view.addresses[node_id])

    async def _open_any(self) -> _Opened:
        reasons: list[str] = []
        for host, port in dict.fromkeys([*self._bootstrap, *self.view.addresses.values()]):
            try:
                return await self._open(host, port)
            except LinkDown as problem:
                reasons.append(str(problem))
        raise Unreachable("; ".join(dict.fromkeys(reasons)))

    async def _open(self, host: str, port: int) -> _Opened:
        options, where = self._options, f"{host}:{port}"
        link = AsyncLink(options.client_id)
        try:
            async with asyncio.timeout(options.connect_timeout_s):
                await self._connect(link, host, port)
                versions = await _converse(link, ask_versions())
                if options.credentials is not None:
                    await link.log_in(options.credentials, _new_nonce)
        except TimeoutError:
            link.close()
            raise Unreachable("no answer in time", where) from None
        except LinkDown as problem:
            link.close()
            raise type(problem)(problem.reason, where) from None
        except LoginFailed as refused:
            link.close()
            raise LoginFailed(f"{where}: {refused}") from None
        except BaseException:
            link.close()
            raise
        return _Opened(link, versions)

    async def _connect(self, link: AsyncLink, host: str, port: int) -> None:
        tls = self._options.tls
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(
                lambda: link, host, port, ssl=tls, server_hostname=host if tls is not None else None
            )
        except socket.gaierror:
            raise Unreachable("the name does not resolve") from None
        except ssl.SSLError as error:
            raise Unreachable(f"TLS failed: {error.reason or error}") from None
        except OSError as error:
            raise Unreachable((error.strerror or str(error)).lower()) from None

    # --- the cluster ------------------------------------------------------------------------------------------------

    async def node_ids(self) -> list[int]:
        """The nodes that are up, asked now."""
        self.view.learn_cluster(await self.ask_any(DESCRIBE_CLUSTER, {}, _DESCRIBE_CLUSTER_NEWEST))
        return sorted(self.view.addresses)

    async def look_up(self, topics: Iterable[str] | None) -> "MetadataResponse":
        """Metadata of these topics, None for all."""
        answer: MetadataResponse = await self.ask_any(METADATA, _metadata_body(topics), _METADATA_NEWEST)
        self.view.learn_metadata(answer)
        return answer

    async def look_up_unread(self) -> Unread:
        """The same of all topics; `learn` reads it."""
        return await self.ask_any_unread(METADATA, _metadata_body(None), _METADATA_NEWEST)

    async def learn(self, metadata: Unread) -> "MetadataResponse":
        answer: MetadataResponse = await self.read(metadata)
        self.view.learn_metadata(answer)
        return answer

    async def find_coordinators(self, kind: int, keys: Sequence[str]) -> dict[str, int]:
        """Asks who coordinates each key; gives the error codes of those without a coordinator."""
        failed: dict[str, int] = {}
        version = (await self._connection(_ANY)).versions.must(FIND_COORDINATOR, _FIND_COORDINATOR_NEWEST)
        for asked in [keys] if version >= _FIRST_OF_MANY_KEYS else [[key] for key in keys]:
            body = {"key_type": kind, "key": asked[0], "coordinator_keys": asked}
            answer = await self.ask_any(FIND_COORDINATOR, body, version)
            failed |= self.view.learn_coordinators(kind, asked, answer)
        return failed


def _metadata_body(topics: Iterable[str] | None) -> dict[str, object]:
    wanted = None if topics is None else [{"name": name} for name in topics]
    return {"topics": wanted, "allow_auto_topic_creation": False}


async def _converse(link: AsyncLink, conversation: Conversation[Result]) -> Result:
    try:
        step = next(conversation)
        while True:
            step = conversation.send(await link.ask(step.api_key, step.version, step.body))
    except StopIteration as end:
        result: Result = end.value
        return result


def _new_nonce() -> str:
    return base64.b64encode(os.urandom(18)).decode()
