"""The schema ids that are registered, from the records of `_schemas` in order.

Confluent's record format: keys and values are JSON, the key's `keytype` says what a record is about. Of a schema's
version (SCHEMA) the id and the GUID are kept, nothing of its text. A version counts while it is not deleted, softly or
for good: whoever deletes a schema wants no more records of it. DELETE_SUBJECT deletes softly all versions up to one;
all other kinds (CONFIG, MODE, NOOP, CLEAR_SUBJECT, which removes what was deleted before) say nothing about ids.

Whoever may write to the topic may write anything: what cannot be read is passed over, and what is kept has a bound.
"""

import msgspec

from barnabas.model.limits import KNOWN_SCHEMAS_MAX_BYTES, SCHEMA_RECORD_MAX_BYTES
from barnabas.wire.schema_ids import guid_identifier, id_identifier

_ID_MAX = 2**32 - 1
_VERSION_BYTES = 700  # what a version costs here beside its subject's name, with its share of four tables


class _Key(msgspec.Struct):
    keytype: str
    subject: str | None = None
    version: int | None = None


class _Value(msgspec.Struct):
    """Of a schema's version, and of DELETE_SUBJECT. Fields that are not named here are passed over unread."""

    subject: str | None = None
    version: int | None = None
    id: int | None = None
    guid: str | None = None
    deleted: bool | None = None


_Identifiers = tuple[bytes, ...]  # of one version: its id, and its GUID where it has one
_read_key = msgspec.json.Decoder(_Key).decode
_read_value = msgspec.json.Decoder(_Value).decode


class KnownSchemas:
    def __init__(self, max_bytes: int = KNOWN_SCHEMAS_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self.clear()

    def clear(self) -> None:
        self._versions: dict[str, dict[int, _Identifiers]] = {}
        self._of_subject: dict[str, dict[bytes, int]] = {}  # how many versions have it
        self._of_all: dict[bytes, int] = {}
        self.kept_bytes = 0
        self.is_full = False  # there was a version that found no space

    def identifiers(self, subject: str | None) -> dict[bytes, int]:
        """Those that are registered under a subject, or under any."""
        return self._of_all if subject is None else self._of_subject.get(subject, {})

    def apply(self, key: bytes | None, value: bytes | None) -> None:
        """The next record of the topic."""
        if key is None or len(key) + len(value or b"") > SCHEMA_RECORD_MAX_BYTES:
            return
        try:
            about = _read_key(key)
            said = None if value is None else _read_value(value)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return
        if about.keytype == "SCHEMA" and about.subject is not None and about.version is not None:
            self._remove(about.subject, about.version)
            identifiers = () if said is None or said.deleted else _identifiers_of(said)
            if identifiers:
                self._add(about.subject, about.version, identifiers)
        elif about.keytype == "DELETE_SUBJECT" and said is not None and said.version is not None:
            subject = said.subject or about.subject or ""
            for version in [each for each in self._versions.get(subject, ()) if each <= said.version]:
                self._remove(subject, version)

    def _add(self, subject: str, version: int, identifiers: _Identifiers) -> None:
        cost = _cost(subject)
        if self.kept_bytes + cost > self._max_bytes:
            self.is_full = True
            return
        self.kept_bytes += cost
        self._versions.setdefault(subject, {})[version] = identifiers
        for counts in (self._of_subject.setdefault(subject, {}), self._of_all):
            for identifier in identifiers:
                counts[identifier] = counts.get(identifier, 0) + 1

    def _remove(self, subject: str, version: int) -> None:
        versions = self._versions.get(subject)
        identifiers = versions.pop(version, None) if versions is not None else None
        if versions is None or identifiers is None:
            return
        self.kept_bytes -= _cost(subject)
        for counts in (self._of_subject[subject], self._of_all):
            for identifier in identifiers:
                counts[identifier] -= 1
                if not counts[identifier]:
                    del counts[identifier]
        if not versions:
            del self._versions[subject], self._of_subject[subject]


def _cost(subject: str) -> int:
    return _VERSION_BYTES + 4 * len(subject)


def _identifiers_of(said: _Value) -> _Identifiers:
    if said.id is None or not 0 <= said.id <= _ID_MAX:
        return ()
    own = id_identifier(said.id)
    try:
        guid = bytes.fromhex((said.guid or "").replace("-", ""))
    except ValueError:
        return (own,)
    return (own, guid_identifier(guid)) if len(guid) == 16 else (own,)
