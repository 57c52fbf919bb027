"""kcat: librdkafka on the command line.

Debian's librdkafka cannot ask a provider for tokens (it has no `oidc` among its features), so for OAUTHBEARER kcat runs
on the one that confluent-kafka brings.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import confluent_kafka

from tests.security.matrix.clients.confluent import settings_of
from tests.security.matrix.clients.contract import ADMIN, Client, Refused
from tests.security.matrix.ways import OAUTH, Credentials


class Kcat(Client):
    missing = {ADMIN: "it only reads and writes records"}

    def produce(self, to: Credentials, topic: str, text: str) -> None:
        self._run(to, "-P", "-t", topic, stdin=text)

    def transaction(self, to: Credentials, topic: str, text: str, name: str) -> None:
        self._run(to, "-X", f"transactional.id={name}", "-P", "-t", topic, stdin=text)

    def consume(self, to: Credentials, topic: str, group: str) -> str:
        return self._run(to, "-X", "auto.offset.reset=earliest", "-c", "1", "-G", group, topic).strip()

    def admin(self, to: Credentials, topic: str) -> None:
        raise NotImplementedError(self.missing[ADMIN])

    def _run(self, to: Credentials, *words: str, stdin: str = "") -> str:
        file = to.folder / "kcat.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings_of(to).items()))
        environ = dict(os.environ)
        if to.mechanism == OAUTH:
            environ["LD_LIBRARY_PATH"] = str(_newer_library(to.folder))
        command = ["kcat", "-F", str(file), *words]
        done = subprocess.run(command, input=stdin, text=True, timeout=60, capture_output=True, env=environ)
        if done.returncode != 0:
            raise Refused(done.stderr)
        return done.stdout


def _newer_library(folder: Path) -> Path:
    """A folder with confluent-kafka's librdkafka under the name by which kcat looks for it."""
    library = next(Path(confluent_kafka.__file__).parent.with_name("confluent_kafka.libs").glob("librdkafka-*"))
    link = folder / "librdkafka.so.1"
    if not link.exists():
        link.symlink_to(library)
    return folder
