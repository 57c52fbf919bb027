"""AlterUserScramCredentials, and the secret for salts of users that do not exist: it comes with the first user."""

import asyncio
import itertools
from collections.abc import Callable

from barnabas.broker.network.login.failed_logins import FailedLogins
from barnabas.broker.network.login.listener_login import ListenerLogin
from barnabas.broker.network.pending_logins import PendingLogins
from barnabas.core.access.credentials import NO_USER
from barnabas.core.cluster.access.scram_users import ScramDeletion, ScramUpsertion, alter
from barnabas.core.cluster.image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.settings import Settings
from barnabas.model.settings.listener_security import listener_security

ALICE = ScramUpsertion("alice", 2, 4096, b"a salt", b"salted")
FIRST = b"n,,n=nobody,r=abc"


def ids(seed: int = 0) -> Callable[[], bytes]:
    counter = itertools.count(seed)
    return lambda: next(counter).to_bytes(16, "big")


def changed(image: MetadataImage, *changes: ScramUpsertion, seed: int = 0) -> MetadataImage:
    records, results = alter(image.scram, [], changes, ids(seed))
    assert all(result.error == ErrorCode.NONE for result in results)
    return image.apply(records, offset=image.offset + len(records))


def test_the_secret_comes_with_the_first_user_and_stays() -> None:
    image = changed(MetadataImage(), ALICE)
    secret = image.scram[NO_USER].stored_key
    assert len(secret) == 32 and set(image.scram) == {("alice", 2), NO_USER}
    later = changed(image, ALICE._replace(user="bob"), ALICE._replace(salt=b"another"), seed=100)
    assert later.scram[NO_USER].stored_key == secret
    records, _ = alter(later.scram, [ScramDeletion("alice", 2), ScramDeletion("bob", 2)], [], ids())
    assert set(later.apply(records, offset=99).scram) == {NO_USER}


def test_nobody_can_change_or_delete_it() -> None:
    image = changed(MetadataImage(), ALICE)
    records, results = alter(image.scram, [ScramDeletion(*NO_USER)], [], ids())
    assert not records and results[0].error == ErrorCode.UNACCEPTABLE_CREDENTIAL


def test_a_change_that_is_refused_writes_nothing() -> None:
    records, results = alter({}, [], [ALICE._replace(iterations=1)], ids())
    assert not records and results[0].error == ErrorCode.UNACCEPTABLE_CREDENTIAL


def salt_of_nobody(image: MetadataImage) -> bytes:
    """As a node tells it that has just started."""

    async def ask() -> bytes:
        security = listener_security(Settings({"sasl.enabled.mechanisms": "SCRAM-SHA-512"}), "X", "SASL_PLAINTEXT")
        opened = asyncio.Event()
        opened.set()
        login = ListenerLogin(security, lambda: image, FailedLogins(lambda: 0.0), opened, PendingLogins(print))
        return login.server("SCRAM-SHA-512", None).step(FIRST)[0].split(b",s=")[1]

    return asyncio.run(ask())


def test_every_node_gives_an_unknown_user_the_same_salt_also_after_a_restart() -> None:
    image = changed(MetadataImage(), ALICE)
    assert salt_of_nobody(image) == salt_of_nobody(image)
    assert salt_of_nobody(image) != salt_of_nobody(changed(MetadataImage(), ALICE, seed=7)), "clusters differ"
    assert salt_of_nobody(image) == salt_of_nobody(changed(image, ALICE._replace(user="bob")))
