"""Node settings: TLS. None has an effect yet; a `server.properties` that has them is read without complaint, and a
listener that asks for TLS is refused with one line (see listeners.py).
"""

from barnabas.model.settings.rows import BOOLEAN, CLASS, LIST, PASSWORD, PER_NODE, STRING, node
from barnabas.model.settings.valid import list_of, one_of

# fmt: off
ROWS = (
    node("ssl.allow.dn.changes", BOOLEAN, False, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.allow.san.changes", BOOLEAN, False, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.cipher.suites", LIST, (), list_of(), mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.client.auth", STRING, "none", one_of("required", "requested", "none"), mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.enabled.protocols", LIST, ("TLSv1.2", "TLSv1.3"), list_of(), mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.endpoint.identification.algorithm", STRING, "https", mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.engine.factory.class", CLASS, None, mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.key.password", PASSWORD, None, mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.keymanager.algorithm", STRING, "SunX509", mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.keystore.certificate.chain", PASSWORD, None, mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.keystore.key", PASSWORD, None, mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.keystore.location", STRING, None, mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.keystore.password", PASSWORD, None, mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.keystore.type", STRING, "JKS", mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.principal.mapping.rules", STRING, "DEFAULT", effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.protocol", STRING, "TLSv1.3", mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.provider", STRING, None, mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.secure.random.implementation", STRING, None, mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.trustmanager.algorithm", STRING, "PKIX", mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.truststore.certificates", PASSWORD, None, mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.truststore.location", STRING, None, mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.truststore.password", PASSWORD, None, mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
    node("ssl.truststore.type", STRING, "JKS", mode=PER_NODE, effective=False,
         doc="Accepted for compatibility; there is no TLS yet."),
)
# fmt: on
