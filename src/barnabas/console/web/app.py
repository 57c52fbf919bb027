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
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.routing import Route as WebRoute
from starlette.staticfiles import StaticFiles

from barnabas.console.clusters.connection import Connections
from barnabas.console.options import LOOPBACK, ConsoleOptions
from barnabas.console.pages import ROUTES
from barnabas.console.people.changes import Change, Changes
from barnabas.console.people.roles import may_change, may_see_records, role_of
from barnabas.console.people.sessions import COOKIE, Login, Session, Sessions
from barnabas.console.problems import NotAllowed, Problem, SignInFirst
from barnabas.console.web.calls import Call, Route, as_json
from barnabas.console.web.headers import SecurityHeaders
from barnabas.console.web.signing_in import SignIn
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
        self._signing_in = SignIn(options, self.sessions, self.connections)

    def app(self) -> Starlette:
        hosts = {*LOOPBACK, self.options.host} if self.options.host in LOOPBACK else set()
        own: Sequence[tuple[str, str, Callable[[Request, Session], object]]] = (
            ("GET", "/api/session", self._signing_in.show),
            ("POST", "/api/sign-in", self._signing_in.sign_in),
            ("POST", "/api/sign-out", self._signing_in.sign_out),
        )
        routes: list[BaseRoute] = [
            WebRoute(path, self._of_session(handler), methods=[method]) for method, path, handler in own
        ]
        routes += [
            WebRoute(f"/api/clusters/{{cluster}}{route.path}", self._of_page(route), methods=[route.method])
            for route in ROUTES
        ]
        routes.append(WebRoute("/api/{rest:path}", _nothing_here, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]))
        routes.append(Mount("/static", StaticFiles(directory=STATIC)))
        routes.append(WebRoute("/{rest:path}", self._page, methods=["GET"]))
        security = Middleware(SecurityHeaders, hosts=hosts, tls=self.options.certificate is not None)
        return Starlette(routes=routes, middleware=[security], lifespan=self._life)

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
            await self.connections.forget_unused()

    # --- what is asked ----------------------------------------------------------------------------------------------

    async def _page(self, _: Request) -> Response:
        """Every address of a page is the same file, whose script reads the address."""
        return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})

    def _of_session(self, handler: Callable[[Request, Session], object]) -> Callable[[Request], object]:
        async def answer(request: Request) -> Response:
            session = self.sessions.find(request.cookies.get(COOKIE)) or self.sessions.begin()
            try:
                if request.method != "GET":
                    _same_site(request, session)
                body = handler(request, session)
                found = await body if asyncio.iscoroutine(body) else body
                shown, session = found if isinstance(found, tuple) else (found, session)
                response = Response(as_json(shown), media_type="application/json")
            except Problem as problem:
                response = _problem(problem)
            self._remember(response, session)
            return response

        return answer

    def _of_page(self, route: Route) -> Callable[[Request], object]:
        async def answer(request: Request) -> Response:
            began, call = time.time(), None
            try:
                call = self._call(request, route)
                found = await route.handler(call)
                response = (
                    found if isinstance(found, Response) else Response(as_json(found), media_type="application/json")
                )
                outcome = "done"
            except Problem as problem:
                response, outcome = _problem(problem), problem.message
            except (LinkDown, LoginFailed) as error:
                response, outcome = _problem(Problem(f"the cluster cannot be reached: {error}", status=503)), str(error)
            except UnknownApi as error:
                response, outcome = _problem(Problem(f"this cluster cannot do that: {error}", status=501)), str(error)
            if route.change and call is not None:
                call.connection.observer.hurry()
                self._write_down(route, call, began, outcome)
            return response

        return answer

    def _call(self, request: Request, route: Route) -> Call:
        session = self.sessions.find(request.cookies.get(COOKIE))
        if session is None:
            raise SignInFirst("the session has ended")
        cluster = str(request.path_params["cluster"])
        login = self._login(session, cluster)
        role = role_of(login.user, self.options.roles, self.options.read_only)
        if route.change:
            _same_site(request, session)
            may_change(role)
        if route.records:
            may_see_records(role, request.path_params.get("topic"))
        connection = self.connections.of(cluster, login)
        return Call(request, connection, login.user, role, self.options, self.changes)

    def _login(self, session: Session, cluster: str) -> Login:
        found = session.logins.get(cluster)
        if found is None:
            if self.connections.options(cluster).needs_login or self.options.users:
                raise SignInFirst(f"{cluster} asks for a login")
            return Login("")
        return found

    def _write_down(self, route: Route, call: Call, began: float, outcome: str) -> None:
        on = " ".join([call.request.url.path.partition(f"/{call.connection.options.name}/")[2], *call.names])
        self.changes.add(
            Change(
                time=began,
                user=call.user or "anybody",
                address=call.request.client.host if call.request.client else "",
                cluster=call.connection.options.name,
                what=route.change,
                on=on[:500],
                outcome=outcome[:500],
            )
        )

    def _remember(self, response: Response, session: Session) -> None:
        response.set_cookie(
            COOKIE,
            session.name,
            httponly=True,
            samesite="strict",
            secure=self.options.certificate is not None,
            path="/",
        )


def _same_site(request: Request, session: Session) -> None:
    if not session.is_token(request.headers.get(_CSRF_HEADER, "")):
        raise NotAllowed("this change did not come from a page of the console", "Load the page again.")


async def _nothing_here(_: Request) -> Response:
    return _problem(Problem("there is nothing at this address", status=404))


def _problem(problem: Problem) -> Response:
    body = as_json({"error": problem.message, "way_out": problem.way_out})
    return Response(body, status_code=problem.status, media_type="application/json")
