"""An OAuth and OpenID Connect provider as a child process, of which both sides of a login are tested."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

from tests.support.paths import OAUTH_LIBS
from tests.support.process import ServerProcess, free_port


class Provider(ServerProcess):
    """`no.nav.security:mock-oauth2-server`; each first part of a path is an issuer with a key of its own."""

    def __init__(self, folder: Path, granted: Sequence[Mapping[str, object]], seconds: int = 600) -> None:
        """`granted`: by which parameter of a request which claims are in its tokens, the first that fits."""
        assert (OAUTH_LIBS / ".complete").exists(), "run tools/setup_tests.sh first"
        port = free_port()
        callback = {"issuerId": "cluster", "tokenExpiry": seconds, "requestMappings": list(granted)}
        options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128M"]
        main = "no.nav.security.mock.oauth2.StandaloneMockOAuth2ServerKt"
        config = json.dumps({"interactiveLogin": False, "tokenCallbacks": [callback]})
        environment = {"SERVER_PORT": str(port), "SERVER_HOSTNAME": "127.0.0.1", "JSON_CONFIG": config}
        super().__init__(["java", *options, "-cp", f"{OAUTH_LIBS}/*", main], port, folder / "provider.log", environment)

    def url(self, issuer: str, what: str = "token") -> str:
        return f"http://127.0.0.1:{self.port}/{issuer}/{what}"

    def token(self, issuer: str = "cluster") -> str:
        body = urlencode({"grant_type": "client_credentials", "client_id": "job", "client_secret": "secret"}).encode()
        with urllib.request.urlopen(self.url(issuer), body, timeout=20) as answer:
            return str(json.loads(answer.read())["access_token"])
