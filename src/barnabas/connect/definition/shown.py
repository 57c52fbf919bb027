"""A definition as it may be shown: without secrets."""

from __future__ import annotations

from barnabas.connect.contract import Options
from barnabas.connect.definition.definition import Definition
from barnabas.connect.definition.references import is_reference
from barnabas.connect.options import HIDDEN, without_password

_SECRET_WORDS = (
    *("password", "secret", "token", "api_key", "access_key", "credential", "passphrase"),
    *("authorization", "cookie", "jaas", "private_key", "ssl_key", "keystore_key"),
)
_HEADERS = "headers"  # of HTTP: which of them lets somebody in is the server's choice
_SEPARATORS = str.maketrans(".-", "__")


def shown(options: Options) -> Options:
    return {name: _value(name, value) for name, value in options.items()}


def literal_secrets(definition: Definition) -> list[str]:
    """Options whose secret stands in the definition itself, and not as a reference."""
    found = []
    for name, value in definition.options.items():
        if not isinstance(value, str) or is_reference(value):
            continue
        if (_is_secret(name) and value) or without_password(value) != value:
            found.append(name)
    return found


def _value(name: str, value: object) -> object:
    if isinstance(value, dict):
        all_of_it = _is_secret(name)
        return {inner: _value(name if all_of_it else inner, each) for inner, each in value.items()}
    if isinstance(value, list):
        return [_value(name, each) for each in value]
    if isinstance(value, str) and value and not is_reference(value):
        return HIDDEN if _is_secret(name) else without_password(value)
    return value


def _is_secret(name: str) -> bool:
    plain = name.lower().translate(_SEPARATORS)
    return name == _HEADERS or any(word in plain for word in _SECRET_WORDS)
