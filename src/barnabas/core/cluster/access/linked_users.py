"""Users that come over a link, with the keys that their own cluster keeps of their passwords.

A link adds users and follows their passwords; it removes none. What it may not touch, whatever the source says:

* a super user of this cluster, whether it is a user here or not: who makes users at the source would be one;
* a user that this cluster has and that did not come from the same source, or whose password was set here since.

A user is one of these or none of them as a whole: a second mechanism is a second way to log in as the same user. That
is decided twice by the same function: by the node that compares both clusters, and by the controller, which writes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from barnabas.core.access.credentials import NO_USER, ScramCredential
from barnabas.core.access.sasl.scram import BY_NUMBER, ITERATIONS_MAX, ITERATIONS_MIN
from barnabas.core.cluster.access.scram_users import UserResult, secret_of_salts
from barnabas.core.cluster.records import Record, ScramCredentialRecord
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import LINK_USERS_MAX, SCRAM_CREDENTIALS_MAX, SCRAM_SALT_MAX_BYTES, USER_NAME_MAX_CHARS

Known = Mapping[tuple[str, int], ScramCredential]


class UserKeys(NamedTuple):
    """One user's keys for one mechanism, as clusters exchange them."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def __repr__(self) -> str:
        return f"UserKeys({self.user!r}, {self.mechanism})"  # the rest is secret


class Given(NamedTuple):
    """What the source gives."""

    keys: list[UserKeys]
    left_out: int  # users beyond a limit
    digest: bytes  # of the keys: whoever has these need not be given them again


class Compared(NamedTuple):
    due: list[UserKeys]  # to be written here
    own: list[str]  # users of the source that are left alone here


def given(known: Known) -> Given:
    """In the order of names, so that it is always the same users that are beyond the limit."""
    names = {user for user, mechanism in known if (user, mechanism) != NO_USER}
    unfit = {user for (user, _), kept in known.items() if not _fits(user, kept.salt)}
    told = set(sorted(names - unfit)[:LINK_USERS_MAX])
    keys = sorted(
        UserKeys(user, mechanism, kept.iterations, kept.salt, kept.stored_key, kept.server_key)
        for (user, mechanism), kept in known.items()
        if user in told
    )
    digest = sha256()
    for each in keys:
        digest.update(f"{len(each.user)} {each.user} {each.mechanism} {each.iterations} ".encode())
        for part in (each.salt, each.stored_key, each.server_key):
            digest.update(len(part).to_bytes(4, "big") + part)
    return Given(keys, len(names) - len(told), digest.digest())


def compare(known: Known, keys: Iterable[UserKeys], source: str, super_users: frozenset[str]) -> Compared:
    """`source` is the id of the cluster that the keys are from, `super_users` are principals of this one."""
    others = _not_from(known, source)
    due: list[UserKeys] = []
    own: dict[str, None] = {}
    once = {(each.user, each.mechanism): each for each in keys}
    followed = set(list(dict.fromkeys(user for user, _ in once))[:LINK_USERS_MAX])
    for each in sorted(one for one in once.values() if one.user in followed):
        if each.user in others or f"User:{each.user}" in super_users:
            own[each.user] = None
        elif known.get((each.user, each.mechanism)) != _kept(each, source):
            due.append(each)
    return Compared(due, list(own))


def bring_over(
    known: Known, keys: Sequence[UserKeys], source: str, super_users: frozenset[str], new_id: Callable[[], bytes]
) -> tuple[list[Record], list[UserResult]]:
    """A user fails or succeeds as a whole. `new_id` gives random bytes."""
    others = _not_from(known, source)
    count = len(known)
    records: dict[str, list[Record]] = {}
    refused: dict[str, KafkaError] = {}
    for each in keys:
        made = records.setdefault(each.user, [])
        try:
            if each.user in others or f"User:{each.user}" in super_users:
                raise KafkaError(ErrorCode.POLICY_VIOLATION, "it is a user of this cluster's own")
            _check(each)
            if (each.user, each.mechanism) not in known:
                count += 1
                if count > SCRAM_CREDENTIALS_MAX:
                    raise KafkaError(
                        ErrorCode.UNACCEPTABLE_CREDENTIAL, f"the cluster has {SCRAM_CREDENTIALS_MAX} credentials"
                    )
            kept = _kept(each, source)
            made.append(ScramCredentialRecord(user=each.user, mechanism=each.mechanism, **kept._asdict()))
        except KafkaError as error:
            refused.setdefault(each.user, error)
    results = [
        UserResult(user, refused[user].code, refused[user].message) if user in refused else UserResult(user)
        for user in records
    ]
    kept_records = [record for user, made in records.items() if user not in refused for record in made]
    if kept_records and NO_USER not in known:
        kept_records.append(secret_of_salts(new_id))
    return kept_records, results


def count_from(known: Known, source: str) -> int:
    """How many users came from there."""
    return len({user for (user, _), kept in known.items() if kept.source == source})


def _not_from(known: Known, source: str) -> set[str]:
    """Users with a password that did not come from there."""
    return {user for (user, _), kept in known.items() if kept.source != source}


def _fits(user: str, salt: bytes) -> bool:
    return 0 < len(user) <= USER_NAME_MAX_CHARS and 0 < len(salt) <= SCRAM_SALT_MAX_BYTES


def _kept(keys: UserKeys, source: str) -> ScramCredential:
    return ScramCredential(keys.salt, keys.stored_key, keys.server_key, keys.iterations, source)


def _check(keys: UserKeys) -> None:
    """The source is another cluster: what it gives has to be what a mechanism can use."""
    mechanism = BY_NUMBER.get(keys.mechanism)
    if mechanism is None:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if not _fits(keys.user, keys.salt):
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "a name or a salt that is empty or too long")
    if not ITERATIONS_MIN <= keys.iterations <= ITERATIONS_MAX:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, f"{keys.iterations} iterations")
    if {len(keys.stored_key), len(keys.server_key)} != {mechanism.key_bytes}:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, f"keys that are not those of {mechanism.name}")
