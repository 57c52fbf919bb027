"""The JAAS lines of Kafka's settings, which name users, passwords and how a node logs in:

    org.apache.kafka.common.security.plain.PlainLoginModule required username="node" password="..." user_alice="...";

Only the options are used; the class name says which mechanism they are for, and nothing is loaded by it.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.model.errors import ErrorCode, KafkaError

_MECHANISMS = {
    "org.apache.kafka.common.security.plain.PlainLoginModule": ("PLAIN",),
    "org.apache.kafka.common.security.scram.ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule": ("OAUTHBEARER",),
    "com.sun.security.auth.module.Krb5LoginModule": ("GSSAPI",),
}
_HEAD = re.compile(r"\s*([A-Za-z_$][\w.$]*)\s+(required|requisite|sufficient|optional)\s*", re.IGNORECASE)
_OPTION = re.compile(r"""\s*([\w.-]+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)""")
_END = re.compile(r"\s*;\s*")
_USER = "user_"


class JaasEntry(NamedTuple):
    mechanisms: tuple[str, ...]  # that it is for
    options: Mapping[str, str]

    @property
    def users(self) -> dict[str, str]:
        """Of PLAIN: the passwords of those who may log in."""
        return {name[len(_USER) :]: value for name, value in self.options.items() if name.startswith(_USER)}

    def __repr__(self) -> str:
        return f"JaasEntry({self.mechanisms})"  # options are secrets


def parse_jaas(setting: str, text: str) -> JaasEntry:
    """KafkaError(INVALID_CONFIG) with one line that does not show the value: it holds passwords."""
    head = _HEAD.match(text)
    if head is None:
        raise _bad(setting, 'expected LoginModule required name="value" ...;')
    module = head[1]
    if module not in _MECHANISMS:
        raise _bad(setting, f"the login module {module} is not served; known are {', '.join(_MECHANISMS)}")
    options: dict[str, str] = {}
    position = head.end()
    while (option := _OPTION.match(text, position)) is not None:
        options[option[1]] = _unquoted(option[2])
        position = option.end()
    end = _END.fullmatch(text, position)
    if end is None:
        raise _bad(setting, f'cannot be read behind character {position}: options are name="value", and ; ends them')
    return JaasEntry(_MECHANISMS[module], options)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] in "\"'" else text


def _bad(setting: str, why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, f"{setting}: {why}")
