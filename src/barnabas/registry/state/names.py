"""Subjects and the contexts that they are in: `:.context:subject`, or `subject` alone in the default context.

A context has ids of its own. The name of a context begins with a dot; the default one is a dot alone.
"""

from __future__ import annotations

DEFAULT_CONTEXT = "."
EVERY_CONTEXT = ":*:"  # as a prefix of subjects
_CONTEXT_BEGINS = ":."
_RESERVED = ("__GLOBAL", "__EMPTY")


def split(subject: str) -> tuple[str, str]:
    """The context, and the name in it; the name is empty where a whole context is meant."""
    if not subject.startswith(_CONTEXT_BEGINS):
        return DEFAULT_CONTEXT, subject
    context, _, name = subject[1:].partition(":")
    return context, name


def qualified(context: str, name: str) -> str:
    return name if context == DEFAULT_CONTEXT else f":{context}:{name}"


def normal(subject: str) -> str:
    """One text for one subject: `:.:orders` is `orders`."""
    return qualified(*split(subject))


def context_of(subject: str) -> str:
    return split(subject)[0]


def context_prefix(context: str) -> str:
    """What stands for a whole context where a subject is asked for; empty for the default one."""
    return "" if context == DEFAULT_CONTEXT else f":{context}:"


def delimited(context: str) -> str:
    """As messages name a context."""
    return f":{context}:"


def in_context_of(parent: str, subject: str) -> str:
    """A name that a schema of `parent` mentions: without a context of its own it is in the same one."""
    if subject.startswith(_CONTEXT_BEGINS):
        return normal(subject)
    return qualified(context_of(parent), subject)


def is_valid(subject: str) -> bool:
    """For a subject that is written to."""
    if any(ord(each) < 0x20 or 0x7F <= ord(each) < 0xA0 for each in subject):
        return False
    name = split(subject)[1]
    return bool(name) and name not in _RESERVED
