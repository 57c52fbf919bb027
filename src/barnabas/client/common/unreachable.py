"""Why a cluster does not answer although its port is open, for the person who reads it: the login, TLS, or neither.

What librdkafka complained about comes first. TLS is then tried once more by ourselves, because librdkafka says the same
of a certificate of another authority, an expired one and one for another name; and the file that the settings came from
is named, since nobody typed them.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Mapping, Sequence

from barnabas.client.common.profile import Profile, found_profile

PROBE_S = 1.0
_DECORATION = re.compile(r"^\S+://\S+: |^SASL authentication error: | \(after \d+ms in state \w+\)$")
_FOREIGN = {7, 18, 19, 20, 21}  # of OpenSSL's X509_V_ERR_*: nobody that is trusted has signed it
_SILENT = (
    "the port is open, but nothing there answers as a Kafka cluster{hint}."
    " Does it ask for TLS and a login (docs/security.md), wait for its quorum, or is it another service?"
)
_LATE = (
    "the port is open, but the login is not answered yet. After failed logins a node answers late, up to 5 s: look at"
    " the user and the password{where}, and try again. Or it waits for its quorum, or is another service"
)


def why_silent(
    targets: Sequence[tuple[str, int]], settings: Mapping[str, object], refused_login: str, last: str
) -> str:
    """`refused_login`, `last`: what librdkafka said of a login, and last of anything."""
    profile = _profile(targets, settings)
    where = f" in {profile.file}" if profile.file else ""
    if refused_login:
        return f"the login failed: {undecorated(refused_login)}. Look at the user and the password{where}"
    if problem := tls_problem(targets, settings):
        return problem
    if _protocol(settings).startswith("SASL_"):
        return _LATE.format(where=where)
    return _SILENT.format(hint=f" ({undecorated(last)})" if last else "")


def tls_problem(targets: Sequence[tuple[str, int]], settings: Mapping[str, object]) -> str:
    """Why TLS fails at the first of these that is there; "" where it does not, or is not asked for."""
    protocol = _protocol(settings)
    if not protocol.endswith("SSL"):
        return ""
    profile = _profile(targets, settings)
    for host, port in targets:
        try:
            with socket.create_connection((host, port), PROBE_S) as plain:
                _context(settings).wrap_socket(plain, server_hostname=host).close()
            return ""
        except ssl.SSLCertVerificationError as error:
            return f"{_distrust(error, settings)}{_way_out(profile)}"
        except (ssl.SSLError, ConnectionResetError, BrokenPipeError):
            asked = f"{profile.file} has" if profile.file else "the settings have"
            return f"the node there does not speak TLS, but {asked} security.protocol={protocol}{_way_out(profile)}"
        except TimeoutError:
            return "the port is open, but nothing there answers to TLS. Is it another service?"
        except (OSError, ValueError):  # not there, or a file of authorities that cannot be read
            continue
    return ""


def undecorated(text: str) -> str:
    """librdkafka's text without the address and the state of its connection."""
    before = ""
    while text != before:
        before, text = text, _DECORATION.sub("", text)
    return text


def _protocol(settings: Mapping[str, object]) -> str:
    return str(settings.get("security.protocol", "PLAINTEXT")).upper()


def _profile(targets: Sequence[tuple[str, int]], settings: Mapping[str, object]) -> Profile:
    """The profile that these settings came from; an empty one where the program has said them itself."""
    found = found_profile(targets)
    return found if found.settings and found.settings.items() <= settings.items() else Profile({}, "", "")


def _context(settings: Mapping[str, object]) -> ssl.SSLContext:
    file, pem = (str(settings[name]) if name in settings else None for name in ("ssl.ca.location", "ssl.ca.pem"))
    context = ssl.create_default_context(cafile=file, cadata=pem)
    if str(settings.get("ssl.endpoint.identification.algorithm", "https")).lower() in ("", "none"):
        context.check_hostname = False
    if str(settings.get("enable.ssl.certificate.verification", "true")).lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _distrust(error: ssl.SSLCertVerificationError, settings: Mapping[str, object]) -> str:
    trusted = settings.get("ssl.ca.location")
    if error.verify_code in _FOREIGN:
        than = f"that of {trusted}" if trusted else "those that this machine trusts"
        return f"the node there has a certificate of another authority than {than}"
    return f"the certificate of the node there is not accepted: {error.verify_message.rstrip('.').lower()}"


def _way_out(profile: Profile) -> str:
    if profile.pointer:
        gone = f"If the node that `up --secure` started there is gone, remove {profile.pointer}"
        return f". {gone}"
    return f". See {profile.file}" if profile.file else ""
