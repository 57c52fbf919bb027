"""Signing in at the provider: away to it, back with a code, and a new access token when the old one ends."""

from __future__ import annotations

import asyncio
import base64
import hmac
import ssl
import time
from collections.abc import Mapping
from urllib.parse import quote, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from barnabas.console.clusters.connection import Connections
from barnabas.console.options import ConsoleOptions
from barnabas.console.people.oidc import (
    DISCOVERY,
    Attempt,
    OidcOptions,
    Provider,
    Tokens,
    checked_provider,
    tokens_of,
    user_of,
)
from barnabas.console.people.sessions import Login, Session, Sessions
from barnabas.console.problems import NotFound, Problem, SignInFirst
from barnabas.link.http import HttpFailed, fetch
from barnabas.link.sasl import OAUTHBEARER, Credentials

BACK = "/api/oidc/back"
_COOKIE = "barnabas-console-oidc"  # lax: strict ones are not sent when the provider sends the browser back
_ATTEMPT_SECONDS = 600.0
_ATTEMPTS_MAX = 500  # of people who are at the provider; the oldest are forgotten
_FETCH_SECONDS = 10.0
_FETCH_MAX_BYTES = 256 * 1024
_FETCHES_MAX = 8  # threads that wait for the provider
_KNOWN_SECONDS = 3600.0  # the discovery document
_EARLY_SECONDS = 30.0  # a token is renewed before it ends


class OidcSignIn:
    def __init__(self, options: ConsoleOptions, sessions: Sessions, connections: Connections) -> None:
        self._console = options
        self._cookie = f"{_COOKIE}-{options.port}"
        self._sessions = sessions
        self._connections = connections
        self._attempts: dict[str, tuple[Attempt, Session]] = {}  # by state
        self._provider: tuple[float, Provider] | None = None
        self._fetching = asyncio.Semaphore(_FETCHES_MAX)
        self._renewing: dict[str, asyncio.Lock] = {}

    @property
    def _options(self) -> OidcOptions:
        if self._console.oidc is None:
            raise NotFound("this console has no provider", "Add [oidc] with issuer and client_id to its --config file.")
        return self._console.oidc

    def is_for(self, cluster: str) -> bool:
        return self._console.oidc is not None and self._connections.options(cluster).by_token

    # --- away and back ----------------------------------------------------------------------------------------------

    async def leave(self, request: Request, session: Session) -> Response:
        cluster = request.query_params.get("cluster", "")
        options = self._options
        if not self.is_for(cluster):
            raise NotFound(f"{cluster[:100]!r} is not signed in to at a provider")
        provider = await self._known_provider()
        attempt = Attempt(cluster, self._address(request) + BACK, time.monotonic())
        self._forget_old()
        self._attempts[attempt.state] = (attempt, session)
        response = RedirectResponse(attempt.address(provider, options), 303)
        self._set_cookie(response, attempt.browser, int(_ATTEMPT_SECONDS))
        return response

    async def come_back(self, request: Request) -> tuple[Response, Session]:
        """What goes wrong after the state is known is told on the page to sign in; else it is one line."""
        query = request.query_params
        found = self._attempts.pop(query.get("state", ""), None)
        cookie = request.cookies.get(self._cookie, "")
        if found is None or not hmac.compare_digest(cookie.encode(), found[0].browser.encode()):
            raise Problem("this visit to the provider is not known here, or took too long", "Sign in again.")
        attempt, session = found
        response = RedirectResponse(f"/c/{quote(attempt.cluster, safe='')}/overview", 303)
        self._set_cookie(response, "", 0)
        try:
            if "code" not in query:
                refusal = query.get("error_description") or query.get("error") or "no code came back"
                raise SignInFirst(f"the provider did not sign you in: {refusal[:200]}")
            login = await self._login(attempt, query["code"])
        except Problem as problem:
            session.notice = problem.message
            return response, session
        fresh = self._sessions.begin()
        fresh.logins = {**session.logins, attempt.cluster: login}
        self._sessions.end(session)
        return response, fresh

    async def _login(self, attempt: Attempt, code: str) -> Login:
        tokens = await self._tokens(attempt.exchange(code))
        login = _login(user_of(tokens.id_token, attempt, self._options, time.time()), tokens)
        await self._connections.check_login(attempt.cluster, login, "the cluster does not accept the provider's token")
        return login

    # --- later ------------------------------------------------------------------------------------------------------

    async def renewed(self, session: Session, cluster: str, login: Login) -> Login:
        """The login as it is, or with a new token where the old one ends; SignInFirst where there is none."""
        if time.time() < login.expires - _EARLY_SECONDS:
            return login
        async with self._renewing.setdefault(session.name, asyncio.Lock()):
            try:
                now = session.logins.get(cluster, login)
                if now is not login:
                    return now  # another request has done it
                session.logins[cluster] = found = await self._renew(login)
                return found
            except SignInFirst:
                session.logins.pop(cluster, None)
                raise
            finally:
                self._renewing.pop(session.name, None)

    async def _renew(self, login: Login) -> Login:
        if login.refresh_token:
            try:
                asked = {"grant_type": "refresh_token", "refresh_token": login.refresh_token}
                tokens = await self._tokens(asked)
                return _login(login.user, tokens, login.refresh_token)
            except Problem as problem:  # the old one is good for some seconds more
                if not isinstance(problem, SignInFirst) and time.time() >= login.expires:
                    raise
        if time.time() < login.expires:
            return login
        raise SignInFirst("your sign-in has ended")

    # --- the provider -----------------------------------------------------------------------------------------------

    async def _known_provider(self) -> Provider:
        now = time.monotonic()
        if self._provider is None or self._provider[0] + _KNOWN_SECONDS < now:
            data = await self._fetch(self._options.issuer.rstrip("/") + DISCOVERY)
            self._provider = now, checked_provider(data, self._options)
        return self._provider[1]

    async def _tokens(self, asked: Mapping[str, str]) -> Tokens:
        options = self._options
        form = {**asked, "client_id": options.client_id}
        headers = {"Accept": "application/json"}
        if options.client_secret:
            pair = f"{quote(options.client_id, safe='')}:{quote(options.client_secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        endpoint = (await self._known_provider()).token_endpoint
        return tokens_of(await self._fetch(endpoint, urlencode(form).encode(), headers))

    async def _fetch(self, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        async with self._fetching:
            try:
                return await asyncio.to_thread(self._fetch_blocking, url, body, headers)
            except HttpFailed as error:
                if error.status in (400, 401, 403):
                    raise SignInFirst("the provider did not accept it: sign in again") from None
                raise Problem(f"the provider {urlsplit(url).netloc} cannot be asked: {error}", status=502) from None

    def _fetch_blocking(self, url: str, body: bytes | None, headers: Mapping[str, str] | None) -> bytes:
        try:
            tls = None if self._options.ca is None else ssl.create_default_context(cafile=self._options.ca)
        except OSError as error:
            raise HttpFailed(f"ca cannot be used: {error}") from None
        return fetch(url, timeout_s=_FETCH_SECONDS, max_bytes=_FETCH_MAX_BYTES, body=body, headers=headers, tls=tls)

    def _address(self, request: Request) -> str:
        if self._options.address:
            return self._options.address.rstrip("/")
        scheme = "https" if self._console.certificate else "http"
        return f"{scheme}://{request.headers.get('host', '')}"

    def _set_cookie(self, response: Response, value: str, seconds: int) -> None:
        secure = self._console.certificate is not None
        response.set_cookie(
            self._cookie, value, max_age=seconds, httponly=True, samesite="lax", secure=secure, path="/api/oidc"
        )

    def _forget_old(self) -> None:
        oldest = time.monotonic() - _ATTEMPT_SECONDS
        for state in [state for state, (each, _) in self._attempts.items() if each.began < oldest]:
            del self._attempts[state]
        while len(self._attempts) >= _ATTEMPTS_MAX:
            del self._attempts[next(iter(self._attempts))]


def _login(user: str, tokens: Tokens, refresh_token: str = "") -> Login:
    credentials = Credentials(OAUTHBEARER, user, tokens.access_token)
    return Login(user, credentials, time.time() + tokens.lifetime, tokens.refresh_token or refresh_token)
