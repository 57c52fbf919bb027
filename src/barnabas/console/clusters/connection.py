"""A cluster as one person sees it: connections logged in as them, and an observer. Made when first asked for.

Open clusters have one that everybody shares and that looks from the start of the console on. Of people who have signed
in there is one for each login: sessions with the same password share it, sessions with tokens of their own do not, so
nobody acts with more than what they have signed in with. One whose login no session has any more goes over to the next
login of the same user (a token was renewed, a password changed), with its history, moves and searches; else it ends.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Iterable
from weakref import WeakSet

from barnabas.browse import Browser, Opener
from barnabas.console.clusters.cluster_links import LinkRates
from barnabas.console.clusters.history import SERIES_MAX, SERIES_OF_A_PERSON_MAX, History
from barnabas.console.clusters.jobs import Jobs
from barnabas.console.clusters.moving import Mover
from barnabas.console.clusters.node_metrics import NodeMetrics
from barnabas.console.clusters.observer import Observer
from barnabas.console.clusters.schemas import Schemas
from barnabas.console.options import ClusterOptions
from barnabas.console.people.sessions import Login, Sessions
from barnabas.console.problems import NotFound, Problem, SignInFirst
from barnabas.link.async_nodes import AsyncNodes, AsyncOptions
from barnabas.link.errors import LinkDown, LoginFailed
from barnabas.link.login_settings import UnusableLogin, tls_of
from barnabas.link.sasl import Credentials
from barnabas.model.limits import SEARCHES_AT_ONCE_MAX

log = logging.getLogger("barnabas.console")

_CONNECT_SECONDS = 3.0  # a person waits
_ANSWER_SECONDS = 15.0
_UNUSED_SECONDS = 600.0  # a tab that somebody looks at asks every two seconds
_OF_ONE_USER_MAX = 8  # each looks at the cluster every two seconds
_DEFAULT_MECHANISM = "SCRAM-SHA-512"
_PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class Shared:
    """What bounds the work of all connections together."""

    def __init__(self) -> None:
        self.opener = Opener()
        self.searches = asyncio.Semaphore(SEARCHES_AT_ONCE_MAX)


class Connection:
    def __init__(self, options: ClusterOptions, login: Login, shared: Shared) -> None:
        self.options = options
        self.login = login
        self.used = time.monotonic()
        self.closed = False
        self._made: WeakSet[AsyncNodes] = WeakSet()
        self.nodes = self.new_nodes()
        self.metrics = NodeMetrics(self.nodes, _tls(options), login.credentials)
        series = SERIES_OF_A_PERSON_MAX if login.user else SERIES_MAX
        self.observer = Observer(self.nodes, self.metrics, History(series_max=series))
        self.observer.start()
        self.browser = Browser(self.new_nodes, shared.opener, shared.searches)
        self.schemas = Schemas(options, login)
        self.link_rates = LinkRates()
        self.jobs = Jobs()
        self.mover = Mover(self.new_nodes)

    def new_nodes(self) -> AsyncNodes:
        """Connections of their own, for long polls and for large answers; whoever asks closes them."""
        made = new_nodes(self.options, self.login.credentials)
        self._made.add(made)
        return made

    def log_in_as(self, login: Login) -> None:
        """The same user with a new token or password; whatever is under way goes on."""
        self.login = login
        for nodes in self._made:
            nodes.log_in_as(login.credentials)
        self.metrics.log_in_as(login.credentials)
        self.schemas = Schemas(self.options, login)

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
        self._shared = Shared()
        self._connections: dict[tuple[str, Login], Connection] = {}
        self._closing: set[asyncio.Task[None]] = set()

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
        found = self._connections.get((cluster, who))
        if found is None:
            found = self._handed_over(cluster, who)
            if found is None:
                self._make_room(cluster, who)
                found = Connection(options, who, self._shared)
            self._connections[cluster, who] = found
        found.used = time.monotonic()
        return found

    def _handed_over(self, cluster: str, login: Login) -> Connection | None:
        """One of this user whose own login no session has any more."""
        for place, before in self._of_user(cluster, login):
            if not self._sessions.has_login(cluster, before.login):
                del self._connections[place]
                before.log_in_as(login)
                return before
        return None

    def _make_room(self, cluster: str, login: Login) -> None:
        known = self._of_user(cluster, login)
        if len(known) < _OF_ONE_USER_MAX:
            return
        idle = [each for each in known if not each[1].mover.busy and not each[1].jobs.busy]
        if not idle:
            raise Problem(f"{login.user} has signed in too often", "Sign out where you do not need it.", 429)
        self._end(min(idle, key=lambda each: each[1].used)[0])

    def _of_user(self, cluster: str, login: Login) -> list[tuple[tuple[str, Login], Connection]]:
        return [
            (place, each)
            for place, each in self._connections.items()
            if place[0] == cluster and place[1].user == login.user
        ]

    def _end(self, place: tuple[str, Login]) -> None:
        connection = self._connections.pop(place)
        connection.closed = True
        task = asyncio.get_running_loop().create_task(connection.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

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

    def forget_unused(self) -> None:
        """Those of people without a session any more, without an open tab, or whose token has ended: looking at the
        cluster for nobody costs it something. Moves that they have begun are finished first."""
        for (cluster, login), connection in list(self._connections.items()):
            idle = connection.used + _UNUSED_SECONDS < time.monotonic() and not connection.jobs.busy
            gone = not self._sessions.has_login(cluster, login) or login.expires < time.time()
            if login.user and (idle or gone) and not connection.mover.busy:
                self._end((cluster, login))

    async def close(self) -> None:
        for place in list(self._connections):
            self._end(place)
        await asyncio.gather(*self._closing, return_exceptions=True)


def _tls(options: ClusterOptions) -> ssl.SSLContext | None:
    try:
        return tls_of(options.settings)
    except UnusableLogin as error:
        raise Problem(f"cluster {options.name}: {error}", status=500) from None


def new_nodes(options: ClusterOptions, credentials: Credentials | None) -> AsyncNodes:
    settings = AsyncOptions("barnabas-console", _CONNECT_SECONDS, _ANSWER_SECONDS, _tls(options), credentials)
    return AsyncNodes(options.addresses, settings)
