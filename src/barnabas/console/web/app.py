"""The application: routes of all pages, sessions, the files of the pages. What every request passes is here.

1. SecurityHeaders: is it called by one of our names? Headers of every answer.
2. A session by its cookie; a first visit gets one. A change needs the session's CSRF token in a header.
3. The person at that cluster, their role, whether the route is for it.
4. The handler of the page; a change is written down, whatever came of it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Mount
from starlette.routing import Route as WebRoute

from barnabas.console.clusters.connection import Connections
from barnabas.console.options import LOOPBACK, ConsoleOptions
from barnabas.console.pages import ROUTES
from barnabas.console.people.changes import Change, Changes
from barnabas.console.people.roles import may_change, may_see_records, role_of
from barnabas.console.people.sessions import COOKIE, Login, Session, Sessions
from barnabas.console.problems import NotAllowed, Problem, SignInFirst
from barnabas.console.web.bodies import Bodies, Body
from barnabas.console.web.calls import Call, Route, as_json
from barnabas.console.web.files import Files
from barnabas.console.web.headers import SecurityHeaders
from barnabas.console.web.oidc import BACK, OidcSignIn
from barnabas.console.web.signing_in import SignIn
from barnabas.console.web.stream import while_true
from barnabas.link.errors import LinkDown, LoginFailed, UnknownApi

log = logging.getLogger("barnabas.console")

STATIC = Path(__file__).parent.parent / "static"
_TIDY_SECONDS = 60.0
_CSRF_HEADER = "x-csrf-token"


class Console:
    def __init__(self, options: ConsoleOptions) -> None:
        self.options = options
        self.sessions = Sessions()
        self.connections = Connections(options.clusters, self.sessions)
        self.changes = Changes(options.audit_file)
        self.bodies = Bodies()
        self._files = Files(STATIC)
        self.ending = asyncio.Event()  # set when the server stops: streams end by themselves
        self._cookie = f"{COOKIE}-{options.port}"  # cookies are for all ports of a host: it may have several consoles
        self._oidc = OidcSignIn(options, self.sessions, self.connections)
        self._signing_in = SignIn(options, self.sessions, self.connections, self.bodies)

    def app(self) -> Starlette:
        hosts = {*LOOPBACK, self.options.host} if self.options.host in LOOPBACK else set()
        own: Sequence[tuple[str, str, Callable[[Request, Session], object]]] = (
            ("GET", "/api/session", self._signing_in.show),
            ("POST", "/api/sign-in", self._signing_in.sign_in),
            ("POST", "/api/sign-out", self._signing_in.sign_out),
            ("GET", "/api/oidc/leave", self._oidc.leave),
            ("GET", BACK, lambda request, _: self._oidc.come_back(request)),
        )
        routes: list[BaseRoute] = [
            WebRoute(path, self._of_session(handler), methods=[method]) for method, path, handler in own
        ]
        routes += [
            WebRoute(f"/api/clusters/{{cluster}}{route.path}", self._of_page(route), methods=[route.method])
            for route in ROUTES
        ]
        routes.append(WebRoute("/api/{rest:path}", _nothing_here, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]))
        routes.append(Mount("/static", self._files))
        routes.append(WebRoute("/{rest:path}", self._page, methods=["GET"]))
        security = Middleware(SecurityHeaders, hosts=hosts, tls=self.options.certificate is not None)
        handlers = {HTTPException: _refused}
        return Starlette(routes=routes, middleware=[security], lifespan=self._life, exception_handlers=handlers)

    @asynccontextmanager
    async def _life(self, _: Starlette) -> AsyncIterator[None]:
        self.connections.start()
        tidying = asyncio.get_running_loop().create_task(self._tidy())
        try:
            yield
        finally:
            tidying.cancel()
            await self.connections.close()

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_TIDY_SECONDS)
            self.connections.forget_unused()

    # --- what is asked ----------------------------------------------------------------------------------------------

    async def _page(self, request: Request) -> Response:
        """Every address of a page is the same file, whose script reads the address."""
        return self._files.answer("/index.html", request.headers)

    def _of_session(self, handler: Callable[[Request, Session], object]) -> Callable[[Request], object]:
        async def answer(request: Request) -> Response:
            if request.url.path != BACK and request.headers.get("sec-fetch-site") == "cross-site":
                # the cookie does not come with it, so a new session would take the place of the person's
                return _problem(NotAllowed("this address is for pages of the console"))
            session = self.sessions.find(request.cookies.get(self._cookie)) or self.sessions.begin()
            try:
                if request.method != "GET":
                    _same_site(request, session)
                body = handler(request, session)
                found = await body if asyncio.iscoroutine(body) else body
                shown, session = found if isinstance(found, tuple) else (found, session)
                response = shown if isinstance(shown, Response) else _json(shown)
            except Problem as problem:
                response = _problem(problem)
            except Exception as error:  # as in the pages
                response = _defect(request, error)
            self._remember(response, session)
            return response

        return answer

    def _of_page(self, route: Route) -> Callable[[Request], object]:
        async def answer(request: Request) -> Response:
            began, call = time.time(), None
            with self.bodies.of_request() as incoming:
                try:
                    call, still = await self._call(request, route, incoming)
                    found = await route.handler(call)
                    if isinstance(found, StreamingResponse):
                        found.body_iterator = while_true(found.body_iterator, still, self.ending)
                    response = found if isinstance(found, Response) else _json(found)
                    outcome = "done"
                except Problem as problem:
                    response, outcome = _problem(problem), problem.message
                except (LinkDown, LoginFailed) as error:
                    unreachable = Problem(f"the cluster cannot be reached: {error}", status=503)
                    response, outcome = _problem(unreachable), str(error)
                except UnknownApi as error:
                    unknown = Problem(f"this cluster cannot do that: {error}", status=501)
                    response, outcome = _problem(unknown), str(error)
                except Exception as error:  # a defect of one page is one line of that page; the log has the rest
                    response = _defect(request, error)
                    outcome = type(error).__name__
            if route.change and call is not None:
                call.connection.observer.hurry()
                self._write_down(route, request, call.user, call.names, began, outcome)
            elif route.change:  # a role, or a page of another site: whoever looks for tries finds them
                self._write_down(route, request, self._user(request), (), began, outcome)
            return response

        return answer

    async def _call(self, request: Request, route: Route, incoming: Body) -> tuple[Call, Callable[[], bool]]:
        """With it: whether the person is still signed in as they were, for answers that go on and on."""
        session = self.sessions.find(request.cookies.get(self._cookie))
        if session is None:
            raise SignInFirst("the session has ended")
        cluster = str(request.path_params["cluster"])
        login = await self._oidc.renewed(session, cluster, self._login(session, cluster))
        role = role_of(login.user, self.options.roles, self.options.read_only)
        if route.change:
            _same_site(request, session)
            may_change(role)
        if route.records:
            may_see_records(role, request.path_params.get("topic"))
        connection = self.connections.of(cluster, login)

        def still() -> bool:
            return self.sessions.is_alive(session) and not connection.closed

        return Call(request, connection, login.user, role, self.options, self.changes, incoming), still

    def _login(self, session: Session, cluster: str) -> Login:
        found = session.logins.get(cluster)
        if found is None:
            if self.connections.options(cluster).needs_login or self.options.users:
                raise SignInFirst(f"{cluster} asks for a login")
            return Login("")
        return found

    def _user(self, request: Request) -> str:
        """Whoever is signed in, if somebody is."""
        session = self.sessions.find(request.cookies.get(self._cookie))
        login = session.logins.get(str(request.path_params["cluster"])) if session is not None else None
        return login.user if login is not None else ""

    def _write_down(
        self, route: Route, request: Request, user: str, names: Iterable[str], began: float, outcome: str
    ) -> None:
        cluster = str(request.path_params["cluster"])
        on = " ".join([request.url.path.partition(f"/{cluster}/")[2], *names])
        self.changes.add(
            Change(
                time=began,
                user=user or "anybody",
                address=request.client.host if request.client else "",
                cluster=cluster[:500],
                what=route.change,
                on=on[:500],
                outcome=outcome[:500],
            )
        )

    def _remember(self, response: Response, session: Session) -> None:
        response.set_cookie(
            self._cookie,
            session.name,
            httponly=True,
            samesite="strict",
            secure=self.options.certificate is not None,
            path="/",
        )


def _same_site(request: Request, session: Session) -> None:
    """The token is enough; a browser that says where the request comes from is believed as well."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise NotAllowed("this change did not come from a page of the console", "Load the page again.")
    if not session.is_token(request.headers.get(_CSRF_HEADER, "")):
        raise NotAllowed("this change did not come from a page of the console", "Load the page again.")


async def _nothing_here(_: Request) -> Response:
    return _problem(Problem("there is nothing at this address", status=404))


async def _refused(_: Request, error: Exception) -> Response:
    """What starlette refuses by itself: a method that the address does not know, a file that is not there."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: "there is nothing at this address", 405: "this address is not for that method"}
    return _problem(Problem(words.get(status, "the request cannot be answered"), status=status))


def _defect(request: Request, error: Exception) -> Response:
    log.error("%s %r failed", request.method, request.url.path, exc_info=error)
    return _problem(Problem(f"{type(error).__name__} in the console: see its log", status=500))


def _json(value: object) -> Response:
    return Response(as_json(value), media_type="application/json")


def _problem(problem: Problem) -> Response:
    body = as_json({"error": problem.message, "way_out": problem.way_out})
    return Response(body, status_code=problem.status, media_type="application/json")
