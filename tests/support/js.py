"""JavaScript's clients, each in one Node process for all tests: kafkajs (tests/js/server.js) and those of a schema
registry (tests/js/registry/server.js)."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from pathlib import Path
from typing import Any

from tests.support.paths import JS, JS_REGISTRY, require, require_setup
from tests.support.process import end


class NodeProcess:
    """`server.js` of a folder: one JSON job a line, one JSON answer a line."""

    def __init__(self, folder: Path) -> None:
        self.lock = threading.Lock()
        self.process = subprocess.Popen(
            ["node", "server.js"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._env(),
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == b'"ready"'

    @staticmethod
    def _env() -> dict[str, str]:
        import os

        return {**os.environ, "KAFKAJS_NO_PARTITIONER_WARNING": "1"}

    def job(self, job: str, timeout_seconds: float = 60, **arguments: Any) -> Any:
        with self.lock:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            watchdog = threading.Timer(timeout_seconds, self.process.kill)
            watchdog.start()
            try:
                self.process.stdin.write(json.dumps({"job": job, **arguments}).encode() + b"\n")
                self.process.stdin.flush()
                line = self.process.stdout.readline()
            finally:
                watchdog.cancel()
        if not line:
            raise TimeoutError(f"{job} in JavaScript did not answer in {timeout_seconds} s")
        answer = json.loads(line)
        if "error" in answer:
            raise AssertionError(f"{job} in JavaScript: {answer['error']}\n{answer.get('stack')}")
        return answer["ok"]

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        end(self.process)


class KafkaJs(NodeProcess):
    def __init__(self) -> None:
        require_setup()
        super().__init__(JS)


class RegistryJs(NodeProcess):
    """@confluentinc/schemaregistry and @kafkajs/confluent-schema-registry."""

    def __init__(self) -> None:
        require(JS_REGISTRY / "node_modules")
        super().__init__(JS_REGISTRY)
