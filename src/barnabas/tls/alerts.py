"""A TLS context that hands out the alert of a handshake that fails.

OpenSSL says in an alert why it refuses the other end: an authority it does not know, a certificate that has expired, no
version in common. The loop closes the connection without sending it, and a client could only tell its user that it was
disconnected. Whoever begins a handshake sets `SEND_ALERT`, in the context (of contextvars) that the handshake runs in.
"""

import ssl
from collections.abc import Callable
from contextvars import ContextVar

SEND_ALERT: ContextVar[Callable[[bytes], None] | None] = ContextVar("SEND_ALERT", default=None)


class _Handshake(ssl.SSLObject):
    outgoing: ssl.MemoryBIO | None = None
    send_alert: Callable[[bytes], None] | None = None

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError:
            if self.send_alert is not None and self.outgoing is not None and (alert := self.outgoing.read()):
                self.send_alert(alert)
            raise
        self.outgoing = self.send_alert = None


class AlertingContext(ssl.SSLContext):
    sslobject_class = _Handshake

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        made = super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        send = SEND_ALERT.get()
        if isinstance(made, _Handshake) and send is not None:
            made.outgoing, made.send_alert = outgoing, send
        return made
