"""Kerberos for a listener: the JAAS line names the node's principal and its keytab, as in Kafka:

com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true
    keyTab="/etc/kafka.keytab" principal="kafka/host-1.example.org@EXAMPLE.ORG";
"""

from typing import NamedTuple

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings.effective import Settings
from barnabas.model.settings.jaas import JaasEntry


class KerberosSettings(NamedTuple):
    setting: str  # where the next two stand
    principal: str
    keytab: str
    rules: tuple[str, ...]


def kerberos_settings(settings: Settings, listener: str, jaas: JaasEntry | None) -> KerberosSettings:
    """KafkaError(INVALID_CONFIG) where something is missing."""
    setting = f"listener.name.{listener.lower()}.gssapi.sasl.jaas.config"
    keytab, principal = ("", "") if jaas is None else (jaas.options.get(each, "") for each in ("keyTab", "principal"))
    if not keytab or not principal:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"{setting}: GSSAPI needs com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true "
            'storeKey=true keyTab="FILE" principal="SERVICE/HOST@REALM";',
        )
    service, wanted = principal.partition("/")[0], settings.listener_value(listener, "sasl.kerberos.service.name")
    if wanted and wanted != service:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"sasl.kerberos.service.name={wanted}, but the principal of {setting} is {principal}",
        )
    rules = settings.listener_value(listener, "sasl.kerberos.principal.to.local.rules")
    assert isinstance(rules, tuple)
    return KerberosSettings(setting, principal, keytab, rules)
