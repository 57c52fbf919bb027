"""EXTERNAL (RFC 4422, appendix A): who the client is was proved below SASL, by its TLS certificate.

Nodes use it among themselves: they log in with their certificates on the same listener on which clients log in with
passwords.
"""

from barnabas.core.access.sasl.contract import Identity, LoginRefused


class ExternalServer:
    """`certified`: the name in the certificate that TLS has verified, None without one."""

    def __init__(self, certified: str | None) -> None:
        self._certified = certified

    def step(self, message: bytes) -> tuple[bytes, Identity | None]:
        if self._certified is None:
            raise LoginRefused("Authentication failed: EXTERNAL needs a TLS client certificate")
        try:
            wanted = message.decode()
        except UnicodeDecodeError:
            wanted = "\0"
        if wanted and wanted != self._certified:
            raise LoginRefused("Authentication failed: the certificate is not of that name")
        return b"", Identity(self._certified)
