"""franz-go (tests/go/logins)."""

from __future__ import annotations

import json
import subprocess

from tests.security.matrix.clients.contract import ADMIN, CONSUME, PRODUCE, TRANSACTION, Client, Refused
from tests.security.matrix.ways import Credentials
from tests.support.paths import go_program


class FranzGo(Client):
    def produce(self, to: Credentials, topic: str, text: str) -> None:
        self._run(to, Action=PRODUCE, Topic=topic, Value=text)

    def transaction(self, to: Credentials, topic: str, text: str, name: str) -> None:
        self._run(to, Action=TRANSACTION, Topic=topic, Value=text, ID=name)

    def consume(self, to: Credentials, topic: str, group: str) -> str:
        return self._run(to, Action=CONSUME, Topic=topic, Group=group)

    def admin(self, to: Credentials, topic: str) -> None:
        self._run(to, Action=ADMIN, Topic=topic)

    def _run(self, to: Credentials, **job: str) -> str:
        job |= {"Bootstrap": to.bootstrap, "Mechanism": to.mechanism or "", "User": to.user, "Password": to.password}
        job |= {"TokenURL": to.token_url, "Scope": to.scope, "CA": "" if to.ca is None else str(to.ca)}
        if to.certificate is not None:
            job |= {"Certificate": str(to.certificate.certificate), "Key": str(to.certificate.key)}
        done = subprocess.run([go_program("logins")], input=json.dumps(job), text=True, timeout=60, capture_output=True)
        if done.returncode != 0:
            raise Refused(done.stderr)
        return str(json.loads(done.stdout))
