"""Kafka's own client in Java (tests/java/Logins.java)."""

from __future__ import annotations

from tests.security.matrix.clients.contract import ADMIN, CONSUME, PRODUCE, TRANSACTION, Client, Refused
from tests.security.matrix.ways import OAUTH, Credentials
from tests.support.java import JavaTools

SECURITY = "org.apache.kafka.common.security"
MODULES = {
    "PLAIN": f"{SECURITY}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{SECURITY}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{SECURITY}.scram.ScramLoginModule",
}


class Java(Client):
    def __init__(self, tools: JavaTools) -> None:
        """`tools`: with the provider among the addresses that Kafka's client may ask for a token."""
        self._tools = tools

    def produce(self, to: Credentials, topic: str, text: str) -> None:
        self._run(to, PRODUCE, topic, text=text)

    def transaction(self, to: Credentials, topic: str, text: str, name: str) -> None:
        self._run(to, TRANSACTION, topic, name, text)

    def consume(self, to: Credentials, topic: str, group: str) -> str:
        return self._run(to, CONSUME, topic, group)

    def admin(self, to: Credentials, topic: str) -> None:
        self._run(to, ADMIN, topic)

    def _run(self, to: Credentials, action: str, topic: str, name: str = "-", text: str = "-") -> str:
        file = to.folder / "client.properties"
        file.write_text("\n".join(_lines(to)) + "\n")
        done = self._tools.run("Logins", action, str(file), topic, name, text, check=False)
        if done.code != 0:
            raise Refused(done.err)
        return done.out.strip()

    def close(self) -> None:
        self._tools.close()


def _lines(to: Credentials) -> list[str]:
    lines = [f"bootstrap.servers={to.bootstrap}", f"security.protocol={to.protocol}", "default.api.timeout.ms=30000"]
    if to.ca is not None:
        lines += ["ssl.truststore.type=PEM", f"ssl.truststore.location={to.ca}"]
    if to.certificate is not None:
        lines += ["ssl.keystore.type=PEM", f"ssl.keystore.location={to.certificate.pem}"]
    if to.mechanism == OAUTH:
        scope = f' scope="{to.scope}"' if to.scope else ""
        lines += [
            f"sasl.mechanism={OAUTH}",
            f"sasl.login.callback.handler.class={SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler",
            f"sasl.oauthbearer.token.endpoint.url={to.token_url}",
            f"sasl.jaas.config={SECURITY}.oauthbearer.OAuthBearerLoginModule required "
            f'clientId="{to.user}" clientSecret="{to.password}"{scope};',
        ]
    elif to.mechanism is not None:
        lines += [
            f"sasl.mechanism={to.mechanism}",
            f'sasl.jaas.config={MODULES[to.mechanism]} required username="{to.user}" password="{to.password}";',
        ]
    return lines
