"""A cluster as one person sees it: connections logged in as them, and an observer. Made when first asked for.

Open clusters have one that everybody shares and that looks from the start of the console on; those of people who have
signed in end with their last session.
"""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Iterable

from barnabas.browse import Browser
from barnabas.console.clusters.jobs import Jobs
from barnabas.console.clusters.moving import Mover
from barnabas.console.clusters.node_metrics import NodeMetrics
from barnabas.console.clusters.observer import Observer
from barnabas.console.options import ClusterOptions
from barnabas.console.people.sessions import Login, Sessions
from barnabas.console.problems import NotFound, Problem, SignInFirst
from barnabas.link.async_nodes import AsyncNodes, AsyncOptions
from barnabas.link.errors import LinkDown, LoginFailed
from barnabas.link.login_settings import UnusableLogin, tls_of
from barnabas.link.sasl import Credentials

log = logging.getLogger("barnabas.console")

_CONNECT_SECONDS = 3.0  # a person waits
_ANSWER_SECONDS = 15.0
_UNUSED_SECONDS = 600.0  # a tab that somebody looks at asks every two seconds
_DEFAULT_MECHANISM = "SCRAM-SHA-512"
_PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class Connection:
    def __init__(self, options: ClusterOptions, login: Login) -> None:
        self.options = options
        self.login = login
        self.used = time.monotonic()
        self.closed = False  # or replaced by one with another password
        self.nodes = self.new_nodes()
        self.metrics = NodeMetrics(self.nodes, _tls(options), login.credentials)
        self.observer = Observer(self.nodes, self.metrics)
        self.observer.start()
        self.browser = Browser(self.new_nodes)
        self.jobs = Jobs()
        self.mover = Mover(self.new_nodes)

    def new_nodes(self) -> AsyncNodes:
        """Connections of their own, for long polls and for large answers; whoever asks closes them."""
        return new_nodes(self.options, self.login.credentials)

    def take_over(self, before: Connection) -> None:
        """From one with an earlier password or token: what it has seen, moves and searches."""
        self.observer.history = before.observer.history
        self.mover, before.mover = before.mover, self.mover
        self.jobs, before.jobs = before.jobs, self.jobs

    async def close(self) -> None:
        self.closed = True
        await self.jobs.close()
        await self.observer.stop()
        await self.mover.close()
        self.browser.close()
        self.metrics.close()
        self.nodes.close()


class Connections:
    def __init__(self, clusters: Iterable[ClusterOptions], sessions: Sessions) -> None:
        self.clusters = {each.name: each for each in clusters}
        self._sessions = sessions
        self._connections: dict[tuple[str, str], Connection] = {}
        self._replaced: list[Connection] = []

    def start(self) -> None:
        """Clusters without logins are looked at from now on, so that the first page has something to show."""
        for each in self.clusters.values():
            if not each.needs_login:
                self.of(each.name, Login(""))

    def options(self, cluster: str) -> ClusterOptions:
        found = self.clusters.get(cluster)
        if found is None:
            raise NotFound(f"there is no cluster {cluster!r} here", f"There are {', '.join(self.clusters)}.")
        return found

    def of(self, cluster: str, login: Login | None) -> Connection:
        options = self.options(cluster)
        if login is None and options.needs_login:
            raise SignInFirst(f"{cluster} asks for a login")
        who = login if login is not None and options.needs_login else Login("")
        key = (cluster, who.user)
        before = found = self._connections.get(key)
        if found is not None and found.login != who:  # the password was changed, or the token is a new one
            found.closed = True
            self._replaced.append(found)
            found = None
        if found is None:
            found = self._connections[key] = Connection(options, who)
            if before is not None:
                found.take_over(before)
        found.used = time.monotonic()
        return found

    async def check(self, cluster: str, user: str, password: str) -> Login:
        """Signs in: the cluster itself decides. Raises a Problem."""
        options = self.options(cluster)
        told = options.settings.get("sasl.mechanism", options.settings.get("sasl.mechanisms", "")).upper()
        login = Login(user, Credentials(told if told in _PASSWORDS else _DEFAULT_MECHANISM, user, password))
        await self.check_login(cluster, login, "user or password are wrong")
        return login

    async def check_login(self, cluster: str, login: Login, refusal: str) -> None:
        nodes = new_nodes(self.options(cluster), login.credentials)
        try:
            await nodes.node_ids()
        except LoginFailed:
            raise SignInFirst(refusal) from None
        except LinkDown as error:
            raise Problem(f"{cluster} cannot be reached: {error}", status=503) from None
        finally:
            nodes.close()

    async def forget_unused(self) -> None:
        """Those of people without a session any more, without an open tab, or whose token has ended: looking at the
        cluster for nobody costs it something. Moves that they have begun are finished first."""
        while self._replaced:
            await self._replaced.pop().close()
        for (cluster, user), connection in list(self._connections.items()):
            idle = connection.used + _UNUSED_SECONDS < time.monotonic() and not connection.jobs.busy
            gone = not self._sessions.is_signed_in(cluster, user) or connection.login.expires < time.time()
            if user and (idle or gone) and not connection.mover.busy:
                del self._connections[cluster, user]
                await connection.close()

    async def close(self) -> None:
        for connection in [*self._connections.values(), *self._replaced]:
            await connection.close()
        self._connections.clear()


def _tls(options: ClusterOptions) -> ssl.SSLContext | None:
    try:
        return tls_of(options.settings)
    except UnusableLogin as error:
        raise Problem(f"cluster {options.name}: {error}", status=500) from None


def new_nodes(options: ClusterOptions, credentials: Credentials | None) -> AsyncNodes:
    settings = AsyncOptions("barnabas-console", _CONNECT_SECONDS, _ANSWER_SECONDS, _tls(options), credentials)
    return AsyncNodes(options.addresses, settings)
