"""AlterUserScramCredentials (KIP-554): which records follow from it. A user fails or succeeds as a whole."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from barnabas.core.access.credentials import NO_USER, ScramCredential
from barnabas.core.access.sasl.scram import (
    BY_NUMBER,
    ITERATIONS_DEFAULT,
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    SALT_BYTES,
    credential,
)
from barnabas.core.cluster.records import Record, RemoveScramCredential, ScramCredentialRecord
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import SCRAM_CREDENTIALS_MAX


class ScramDeletion(NamedTuple):
    user: str
    mechanism: int


class ScramUpsertion(NamedTuple):
    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"ScramUpsertion({self.user!r}, {self.mechanism})"  # the rest is secret


class UserResult(NamedTuple):
    user: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def alter(
    known: Mapping[tuple[str, int], ScramCredential],
    deletions: Sequence[ScramDeletion],
    upsertions: Sequence[ScramUpsertion],
    new_id: Callable[[], bytes],
) -> tuple[list[Record], list[UserResult]]:
    """The words of the errors are Kafka's: kafka-configs prints them. `new_id` gives random bytes."""
    changes: list[ScramDeletion | ScramUpsertion] = [*deletions, *upsertions]
    times = Counter((change.user, change.mechanism) for change in changes)
    records: dict[str, list[Record]] = {}
    refused: dict[str, KafkaError] = {}
    for change in changes:
        made = records.setdefault(change.user, [])
        try:
            if times[change.user, change.mechanism] > 1:
                raise KafkaError(
                    ErrorCode.DUPLICATE_RESOURCE,
                    "A user credential cannot be altered twice in the same request",
                )
            _check_name(change.user, change.mechanism)
            made.append(_deletion(known, change) if isinstance(change, ScramDeletion) else _upsertion(known, change))
        except KafkaError as error:
            refused.setdefault(change.user, error)
    results = [
        UserResult(user, refused[user].code, refused[user].message) if user in refused else UserResult(user)
        for user in records
    ]
    kept = [record for user, made in records.items() if user not in refused for record in made]
    if kept and NO_USER not in known:
        kept.append(secret_of_salts(new_id))
    return kept, results


def secret_of_salts(new_id: Callable[[], bytes]) -> Record:
    user, mechanism = NO_USER
    secret = new_id() + new_id()
    return ScramCredentialRecord(
        user=user,
        mechanism=mechanism,
        salt=(new_id() + new_id())[:SALT_BYTES],
        stored_key=secret,
        server_key=new_id() + new_id(),
        iterations=ITERATIONS_DEFAULT,
    )


def _check_name(user: str, mechanism: int) -> None:
    if not user:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism not in BY_NUMBER:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")


def _deletion(known: Mapping[tuple[str, int], ScramCredential], change: ScramDeletion) -> Record:
    if (change.user, change.mechanism) not in known:
        raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
    return RemoveScramCredential(user=change.user, mechanism=change.mechanism)


def _upsertion(known: Mapping[tuple[str, int], ScramCredential], change: ScramUpsertion) -> Record:
    if change.iterations < ITERATIONS_MIN:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if change.iterations > ITERATIONS_MAX:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not change.salt or not change.salted_password:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Neither the salt nor the salted password may be empty")
    if len(known) >= SCRAM_CREDENTIALS_MAX and (change.user, change.mechanism) not in known:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, f"the cluster has {SCRAM_CREDENTIALS_MAX} credentials")
    mechanism = BY_NUMBER[change.mechanism]
    made = credential(mechanism, change.salt, change.salted_password, change.iterations)
    return ScramCredentialRecord(
        user=change.user,
        mechanism=change.mechanism,
        salt=made.salt,
        stored_key=made.stored_key,
        server_key=made.server_key,
        iterations=made.iterations,
    )
