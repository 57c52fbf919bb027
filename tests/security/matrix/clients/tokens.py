"""A token of the provider, for clients that leave that to the program: the client credentials grant."""

from __future__ import annotations

import json
import urllib.request
from urllib.parse import urlencode

from tests.security.matrix.ways import Credentials


def fetch(to: Credentials) -> str:
    asked = {"grant_type": "client_credentials", "client_id": to.user, "client_secret": to.password}
    if to.scope:
        asked["scope"] = to.scope
    with urllib.request.urlopen(to.token_url, urlencode(asked).encode(), timeout=20) as answer:
        return str(json.loads(answer.read())["access_token"])
