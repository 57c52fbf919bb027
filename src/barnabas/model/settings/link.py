"""Settings of a link: the cluster that it comes from, what it brings over, and how it logs in there.

The names of the login are those of librdkafka's clients (link/login_settings.py). Certificates are given as PEM text,
because every node of the cluster needs them.
"""

from barnabas.model.settings.kinds import ConfigType, ResourceType, Setting, UpdateMode, Valid, Value
from barnabas.model.settings.rows import BOOLEAN, LIST, LONG, PASSWORD, STRING
from barnabas.model.settings.valid import at_least, one_of

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
LOGIN_SETTINGS = (
    "sasl.mechanism",
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "ssl.ca.pem",
    "ssl.endpoint.identification.algorithm",
)


def _link(name: str, kind: ConfigType, default: Value, doc: str, valid: Valid | None = None) -> Setting:
    return Setting(name, kind, default, doc, valid, ResourceType.LINK, UpdateMode.CLUSTER_WIDE)


# fmt: off
ROWS = (
    _link("bootstrap.servers", LIST, (), "Where the source is found: host:port, several with commas."),
    _link("groups", LIST, (".*",), "Groups whose offsets are brought over: regular expressions."),
    _link("max.bytes.per.second", LONG, 0, "How much each node fetches at most; 0: as much as it can.", at_least(0)),
    _link("paused", BOOLEAN, False, "Nothing is brought over while this is true."),
    _link("sasl.mechanism", STRING, "", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, with a SASL protocol.",
          one_of("", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")),
    _link("sasl.password", PASSWORD, None, "The password at the source."),
    _link("sasl.username", STRING, "", "The user at the source."),
    _link("security.protocol", STRING, "PLAINTEXT", "Of the source's listener.", one_of(*PROTOCOLS)),
    _link("source.cluster.id", STRING, "", "The id of the source, as it was when the link was made."),
    _link("ssl.ca.pem", STRING, "", "The authority that signed the source's certificates, as PEM text; empty: those "
                                    "that the machine trusts."),
    _link("ssl.endpoint.identification.algorithm", STRING, "https", "Empty or none: the host's name is not compared "
                                                                    "with the certificate.",
          one_of("https", "none", "")),
    _link("sync.acls", BOOLEAN, False, "Whether rules about the topics and groups are brought over."),
    _link("sync.deletes", BOOLEAN, True, "Whether a topic that is deleted at the source is deleted here."),
    _link("sync.groups", BOOLEAN, True, "Whether the offsets of groups are brought over."),
    _link("sync.users", BOOLEAN, False, "Whether users that log in by SCRAM are brought over, with what the source "
                                        "keeps of their passwords; needs TLS, and CLUSTER_ACTION at the source."),
    _link("topics", LIST, (".*",), "Topics that are brought over: regular expressions, of the whole name."),
)
# fmt: on
