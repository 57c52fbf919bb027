"""What a secured node needs in a folder, made at its first start:

    ca.pem, ca.key        the cluster's certificate authority (the key stays with whoever makes certificates)
    NAME.pem              a node's key and certificate
    admin.properties      how the admin logs in: a Kafka client.properties, for every client and tool
    admin.librdkafka.properties   the same in librdkafka's names, for kcat -F: no password on a command line
    admin.scram           the admin's password, salted, for the first start of a cluster: as secret as the password

`settings` are those of Kafka: one SASL_SSL listener on which people log in by SCRAM and nodes by their certificates,
and access rules that deny by default.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Iterable
from pathlib import Path

from barnabas.cli.secure.files import CA_CERTIFICATE, CA_KEY, write_secret
from barnabas.core.access.sasl.scram import SALT_BYTES, SHA_512, upsertion

FOLDER = "secure"
ADMIN = "admin"
ADMIN_PROPERTIES, ADMIN_SCRAM = "admin.properties", "admin.scram"
ADMIN_LIBRDKAFKA = "admin.librdkafka.properties"
LISTENER = "SASL_SSL"
NODES = "barnabas-nodes"  # the user that all nodes are
_BYTES = ("salt", "salted_password")
_EVERY_ADDRESS = ("", "0.0.0.0", "::")
_RULES = "RULE:^CN=[^,]+,OU=barnabas-nodes$/barnabas-nodes/,DEFAULT"
_LOGIN_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


def ensure(folder: Path, name: str, hosts: Iterable[str]) -> None:
    """Makes what is missing; what is there stays. `hosts`: where the node is reached."""
    node = folder / f"{name}.pem"
    wanted = {
        *(host for host in hosts if host not in _EVERY_ADDRESS),
        "localhost",
        "127.0.0.1",
        "::1",
        socket.gethostname(),
    }
    known = folder / f".{name}.hosts"  # beside the certificate, so that a start need not read it
    if not node.exists() or not wanted <= set(known.read_text().split() if known.exists() else ()):
        from barnabas.cli.secure import authority

        if not (folder / CA_CERTIFICATE).exists():
            authority.create_authority(folder)
        if node.exists() and not (folder / CA_KEY).exists():
            return  # a bundle that was carried here: it is what it is
        authority.issue_node(folder, name, sorted(wanted), node)
        known.write_text("\n".join(sorted(wanted)))
    if not (folder / ADMIN_PROPERTIES).exists() and (folder / CA_KEY).exists():
        create_admin(folder)
    elif (folder / ADMIN_PROPERTIES).exists() and not (folder / ADMIN_LIBRDKAFKA).exists():
        _write_for_librdkafka(folder)


def create_admin(folder: Path) -> None:
    """The admin's password is made here and kept in one file."""
    password = secrets.token_urlsafe(18)
    kept = upsertion(ADMIN, password, SHA_512, secrets.token_bytes(SALT_BYTES))
    write_secret(folder / ADMIN_SCRAM, json.dumps(kept, default=bytes.hex).encode())
    write_secret(folder / ADMIN_PROPERTIES, client_properties(ADMIN, password, folder / CA_CERTIFICATE).encode())
    _write_for_librdkafka(folder)


def _write_for_librdkafka(folder: Path) -> None:
    """From the admin's client.properties, which somebody may have changed: what cannot be translated is left out."""
    from barnabas.client.common.kafka_names import UnusableSetting, librdkafka_names
    from barnabas.model.properties import parse_properties

    given = {name: value for name, value, _ in parse_properties((folder / ADMIN_PROPERTIES).read_text())}
    try:
        found = librdkafka_names(given)
    except UnusableSetting:
        return
    lines = "".join(f"{name}={value}\n" for name, value in found.items())
    write_secret(folder / ADMIN_LIBRDKAFKA, lines.encode())


def client_properties(
    user: str, password: str, ca: Path | None, *, by_token: bool = False, protocol: str = "SASL_SSL"
) -> str:
    """What a Java client, Kafka's tools and our own read. Without `ca` the machine's own authorities count. `by_token`:
    user and password are the id and the HMAC of a delegation token."""
    more = ' tokenauth="true"' if by_token else ""
    trusted = "" if ca is None else f"ssl.truststore.type=PEM\nssl.truststore.location={ca.resolve()}\n"
    return (
        f"security.protocol={protocol}\n"
        "sasl.mechanism=SCRAM-SHA-512\n"
        f'sasl.jaas.config={_LOGIN_MODULE} required username="{user}" password="{password}"{more};\n'
        f"{trusted}"
    )


def settings(folder: Path, name: str) -> dict[str, str]:
    return {
        "listener.security.protocol.map": f"{LISTENER}:SASL_SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / f"{name}.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / CA_CERTIFICATE),
        "ssl.client.auth": "requested",
        "ssl.principal.mapping.rules": _RULES,
        "sasl.enabled.mechanisms": "SCRAM-SHA-512,SCRAM-SHA-256,EXTERNAL",
        "sasl.mechanism.inter.broker.protocol": "EXTERNAL",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN};User:{NODES}",
    }


def remember(folder: Path, addresses: Iterable[str]) -> None:
    """Lets commands and programs of this user on this machine find the admin's credentials by the address."""
    from barnabas.client.common.local_profiles import local_file

    properties = folder / ADMIN_PROPERTIES
    if not properties.exists():
        return
    for address in addresses:
        try:
            write_secret(local_file(address), str(properties.resolve()).encode())
        except OSError:
            return  # a home that cannot be written to: BARNABAS_PROFILE names the file as well


def admin_credential(folder: Path) -> dict[str, object] | None:
    """As AlterUserScramCredentials takes it."""
    file = folder / ADMIN_SCRAM
    if not os.access(file, os.R_OK):
        return None
    kept = json.loads(file.read_text())
    return {name: bytes.fromhex(value) if name in _BYTES else value for name, value in kept.items()}
