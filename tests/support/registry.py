"""A schema registry as a child process, and what asks it without a client of anybody's."""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.support.paths import ROOT
from tests.support.process import ServerProcess, free_port

JSON = "application/vnd.schemaregistry.v1+json"


class RegistryProcess(ServerProcess):
    """`barnabas registry` on a cluster; `told` are further options. It listens when everything is loaded."""

    def __init__(
        self,
        folder: Path,
        bootstrap: str,
        told: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        port: int | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        port = port or free_port()
        command = [sys.executable, "-m", "barnabas.cli.main", "registry", "--port", str(port)]
        command += ["--bootstrap", bootstrap, *told]
        environment = {"PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1", **(env or {})}
        super().__init__(command, port, folder / "registry.log", environment)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: object = None, **more: str) -> tuple[int, Any]:
        return ask(self.port, method, path, body, **more)


def ask(port: int, method: str, path: str, body: object = None, **more: str) -> tuple[int, Any]:
    """Status and body; `body` is sent as JSON, or as it is when it is bytes. A `_` in a header's name is a dash."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Content-Type": JSON} | {name.replace("_", "-"): value for name, value in more.items()}
    sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    try:
        connection.request(method, path, sent, headers)
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    try:
        return answer.status, json.loads(text)
    except ValueError:
        return answer.status, text.decode()


def register(port: int, subject: str, schema: object, **more: object) -> tuple[int, Any]:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return ask(port, "POST", f"/subjects/{quote(subject, safe='')}/versions", {"schema": text, **more})
