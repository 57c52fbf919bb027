"""The keys by which the tokens of OAUTHBEARER are verified: fetched from the provider in a thread, and kept.

They are fetched at the start, every `sasl.oauthbearer.jwks.endpoint.refresh.ms`, and when a token names a key that is
not among them: the login waits for that, at most once in JWKS_UNKNOWN_KEY_SECONDS for all logins together, so that
nobody can make the node ask the provider as often as it likes. A provider that does not answer is asked again, later
and later (`...retry.backoff.ms`, `...retry.backoff.max.ms`); meanwhile the keys of before count. One thread fetches at
a time, and only logins that need its result wait for it.
"""

import asyncio
import logging
import ssl
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from barnabas.core.access.jwt import BadKeySet, KeySet, parse_key_set
from barnabas.link.http import HttpFailed, fetch
from barnabas.model.limits import JWKS_FETCH_SECONDS, JWKS_MAX_BYTES, JWKS_UNKNOWN_KEY_SECONDS
from barnabas.model.settings.oauth import OAuthSettings

events = logging.getLogger("barnabas.events")


class FetchedKeys:
    """`keys` is empty until the first fetch has succeeded."""

    def __init__(self, settings: OAuthSettings, listener: str, tls: ssl.SSLContext | None) -> None:
        assert settings.jwks_url is not None
        self.keys = KeySet()
        self._url = settings.jwks_url
        self._settings = settings
        self._listener = listener
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] | None = None  # of the fetch that is under way
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._asked_at = -JWKS_UNKNOWN_KEY_SECONDS  # for a key that was unknown
        self._closed = False
        self._begin()

    # --- for logins -------------------------------------------------------------------------------------------------

    def waiting(self) -> Callable[[], Awaitable[None]] | None:
        """For a token whose key is unknown: what to wait for before it is tried again; None: it stays unknown."""
        now = self._loop.time()
        if self._done is None:
            if now - self._asked_at < JWKS_UNKNOWN_KEY_SECONDS:
                return None
            self._asked_at = now
            self._begin()
        return self._wait

    async def _wait(self) -> None:
        if self._done is not None:
            await asyncio.wait([self._done], timeout=JWKS_FETCH_SECONDS)

    # --- fetching ---------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._done is not None or self._closed:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._done = self._loop.create_future()
        # Not an executor's: a process that ends does not wait for a provider.
        try:
            threading.Thread(target=self._fetch, name="jwks", daemon=True).start()
        except RuntimeError as error:  # the system gives no thread: tried again later
            self._fetched(str(error))

    def _fetch(self) -> None:
        found: KeySet | str
        try:
            found = parse_key_set(read_key_set(self._url, self._tls))
        except (HttpFailed, BadKeySet, OSError, ValueError) as error:
            found = str(error)
        except Exception as error:  # whatever it is, the next fetch must not wait for this one
            found = repr(error)
        try:
            self._loop.call_soon_threadsafe(self._fetched, found)
        except RuntimeError:
            return  # the node has stopped

    def _fetched(self, found: KeySet | str) -> None:
        done, self._done = self._done, None
        assert done is not None
        done.set_result(None)
        if self._closed:
            return
        if isinstance(found, KeySet):
            if self._failures:
                events.info("the keys of %s are there again", self._url)
            self._failures, self.keys = 0, found
            delay_ms = self._settings.refresh_ms
        else:
            if self._failures == 0:
                events.error(
                    "the keys for OAUTHBEARER on listener %s cannot be fetched from %s: %s",
                    self._listener,
                    self._url,
                    found,
                )
            self._failures += 1
            backoff_ms = self._settings.backoff_ms * 2 ** min(self._failures - 1, 20)
            delay_ms = max(1, min(backoff_ms, self._settings.backoff_max_ms))
        self._timer = self._loop.call_later(delay_ms / 1000, self._begin)

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()


def read_key_set(url: str, tls: ssl.SSLContext | None) -> bytes:
    parts = urlsplit(url)
    if parts.scheme != "file":
        return fetch(url, timeout_s=JWKS_FETCH_SECONDS, max_bytes=JWKS_MAX_BYTES, tls=tls)
    with Path(unquote(parts.path)).open("rb") as file:
        data = file.read(JWKS_MAX_BYTES + 1)
    if len(data) > JWKS_MAX_BYTES:
        raise BadKeySet(f"it has more than {JWKS_MAX_BYTES} bytes")
    return data
