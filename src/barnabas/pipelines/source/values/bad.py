"""A record that does not fit its schema: what is told of it."""

from __future__ import annotations

SHOWN_BYTES = 80


class Bad(Exception):
    """Why a value cannot be decoded, in a few words."""


def shown(value: bytes) -> str:
    """The beginning of a value for a message, whatever it holds."""
    text = value[:SHOWN_BYTES].decode("utf-8", "backslashreplace")
    return f"{text!r}{' ...' if len(value) > SHOWN_BYTES else ''}"
