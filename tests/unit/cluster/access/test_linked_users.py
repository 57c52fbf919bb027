"""Users that come over a link: what the source gives, which are left alone, and what the controller writes."""

import itertools
from collections.abc import Sequence

import pytest

from barnabas.core.access.credentials import NO_USER
from barnabas.core.access.sasl.scram import BY_NUMBER, salted_password
from barnabas.core.cluster.access import linked_users
from barnabas.core.cluster.access.linked_users import UserKeys, bring_over, compare, count_from, given
from barnabas.core.cluster.access.scram_users import ScramDeletion, ScramUpsertion, UserResult, alter
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.record_codec import decode_record, encode_record
from barnabas.core.cluster.records import Record
from barnabas.model.errors import ErrorCode
from barnabas.model.limits import SCRAM_SALT_MAX_BYTES, USER_NAME_MAX_CHARS

EAST, NORTH = "the id of east", "the id of north"
NOBODY = frozenset[str]()
_ids = itertools.count()


def new_id() -> bytes:
    return next(_ids).to_bytes(16, "big")


def changed(image: MetadataImage, records: Sequence[Record]) -> MetadataImage:
    """As every node plays it: from bytes."""
    again = [decode_record(encode_record(record)) for record in records]
    return image.apply(again, offset=image.offset + len(records))


def with_password(
    image: MetadataImage, user: str, password: str, mechanisms: tuple[int, ...] = (1, 2)
) -> MetadataImage:
    for number in mechanisms:
        salted = salted_password(BY_NUMBER[number], password, b"a salt of " + user.encode(), 4096)
        upsertion = ScramUpsertion(user, number, 4096, b"a salt of " + user.encode(), salted)
        records, results = alter(image.scram, [], [upsertion], new_id)
        assert [result.error for result in results] == [ErrorCode.NONE]
        image = changed(image, records)
    return image


def linked(
    here: MetadataImage, source: MetadataImage, source_id: str = EAST, super_users: frozenset[str] = NOBODY
) -> tuple[MetadataImage, list[str]]:
    """One round of a link; gives which users it left alone."""
    found = compare(here.scram, given(source.scram).keys, source_id, super_users)
    records, results = bring_over(here.scram, found.due, source_id, super_users, new_id)
    assert all(result.error == ErrorCode.NONE for result in results)
    return changed(here, records), found.own


def test_a_user_comes_over_with_the_keys_of_its_password_and_a_new_password_follows() -> None:
    source = with_password(MetadataImage(), "alice", "first")
    here, own = linked(MetadataImage(), source)
    assert own == [] and count_from(here.scram, EAST) == 1
    assert NO_USER in here.scram, "the secret for salts comes with the first user, and is this cluster's own"
    assert here.scram[NO_USER].stored_key != source.scram[NO_USER].stored_key
    for mechanism in (1, 2):
        assert here.scram["alice", mechanism][:4] == source.scram["alice", mechanism][:4]
    assert compare(here.scram, given(source.scram).keys, EAST, NOBODY) == ([], []), "nothing is left to do"

    source = with_password(source, "alice", "second", (2,))
    here, _ = linked(here, source)
    assert here.scram["alice", 2].stored_key == source.scram["alice", 2].stored_key


def test_a_user_that_is_deleted_at_the_source_stays() -> None:
    source = with_password(MetadataImage(), "alice", "first")
    here, _ = linked(MetadataImage(), source)
    records, _ = alter(source.scram, [ScramDeletion("alice", 1), ScramDeletion("alice", 2)], [], new_id)
    here, _ = linked(here, changed(source, records))
    assert ("alice", 1) in here.scram and ("alice", 2) in here.scram


def test_users_of_this_cluster_are_left_alone() -> None:
    """Whoever makes users at the source would be one of them here."""
    source = with_password(with_password(MetadataImage(), "admin", "theirs"), "alice", "first")
    here = with_password(MetadataImage(), "admin", "ours", (2,))
    after, own = linked(here, source)
    assert own == ["admin"] and after.scram["admin", 2] == here.scram["admin", 2]
    assert ("admin", 1) not in after.scram, "a second mechanism is a second way in"
    assert count_from(after.scram, EAST) == 1
    records, results = bring_over(here.scram, given(source.scram).keys, EAST, NOBODY, new_id)
    assert [(r.user, r.error) for r in results] == [("admin", ErrorCode.POLICY_VIOLATION), ("alice", ErrorCode.NONE)]
    assert "admin" not in {getattr(record, "user", "") for record in records}, "the controller refuses it, too"


def test_a_super_user_never_comes_over_whether_it_is_a_user_here_or_not() -> None:
    source = with_password(MetadataImage(), "node-1", "anything")
    supers = frozenset({"User:node-1"})
    after, own = linked(MetadataImage(), source, super_users=supers)
    assert own == ["node-1"] and not after.scram
    records, results = bring_over({}, given(source.scram).keys, EAST, supers, new_id)
    assert not records and results[0].error == ErrorCode.POLICY_VIOLATION


def test_a_user_whose_password_was_set_here_is_this_clusters_own_from_then_on() -> None:
    source = with_password(MetadataImage(), "alice", "first")
    here, _ = linked(MetadataImage(), source)
    here = with_password(here, "alice", "set here", (2,))
    after, own = linked(here, with_password(source, "alice", "second"))
    assert own == ["alice"] and after.scram == here.scram


def test_a_user_of_one_source_is_not_changed_by_another() -> None:
    here, _ = linked(MetadataImage(), with_password(MetadataImage(), "alice", "east's"))
    after, own = linked(here, with_password(MetadataImage(), "alice", "north's"), NORTH)
    assert own == ["alice"] and after.scram == here.scram


def test_where_users_came_from_is_in_a_snapshot() -> None:
    here, _ = linked(MetadataImage(), with_password(MetadataImage(), "alice", "first"))
    again = changed(MetadataImage(), here.to_records())
    assert again.scram == here.scram and count_from(again.scram, EAST) == 1


def test_the_secret_of_the_cluster_is_never_given() -> None:
    source = with_password(MetadataImage(), "alice", "first")
    told = given(source.scram)
    assert {each.user for each in told.keys} == {"alice"}
    assert source.scram[NO_USER].stored_key not in {part for each in told.keys for part in each}


def test_the_digest_tells_whether_anything_has_changed() -> None:
    source = with_password(MetadataImage(), "alice", "first")
    same = with_password(MetadataImage(), "alice", "first")  # another secret for salts, which is not given
    assert given(source.scram).digest == given(same.scram).digest
    later = with_password(source, "alice", "second")
    more = with_password(source, "bob", "first")
    assert len({given(image.scram).digest for image in (MetadataImage(), source, later, more)}) == 4


def test_the_number_of_users_is_bounded_at_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    source = MetadataImage()
    for user in ("d", "b", "c", "a"):
        source = with_password(source, user, "pw")
    keys = given(source.scram).keys
    monkeypatch.setattr(linked_users, "LINK_USERS_MAX", 2)
    told = given(source.scram)
    assert ({each.user for each in told.keys}, told.left_out) == ({"a", "b"}, 2)
    assert {each.user for each in compare({}, keys, EAST, NOBODY).due} == {"a", "b"}, "whatever the source gives"


def test_a_user_whose_name_or_salt_is_too_long_is_not_given() -> None:
    source = with_password(MetadataImage(), "alice", "pw")
    for user, salt in (("n" * (USER_NAME_MAX_CHARS + 1), b"salt"), ("bob", b"s" * (SCRAM_SALT_MAX_BYTES + 1))):
        records, _ = alter(source.scram, [], [ScramUpsertion(user, 1, 4096, salt, b"salted")], new_id)
        source = changed(source, records)
    told = given(source.scram)
    assert ({each.user for each in told.keys}, told.left_out) == ({"alice"}, 2)


ALICE = UserKeys("alice", 1, 4096, b"salt", bytes(32), bytes(32))


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        (ALICE._replace(user=""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (ALICE._replace(user="n" * (USER_NAME_MAX_CHARS + 1)), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (ALICE._replace(mechanism=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (ALICE._replace(iterations=1), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (ALICE._replace(iterations=1 << 30), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (ALICE._replace(salt=b""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (ALICE._replace(salt=bytes(SCRAM_SALT_MAX_BYTES + 1)), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (ALICE._replace(stored_key=b""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (ALICE._replace(mechanism=2), ErrorCode.UNACCEPTABLE_CREDENTIAL),
    ],
)
def test_what_no_mechanism_can_use_is_refused_and_takes_the_whole_user_with_it(keys: UserKeys, code: ErrorCode) -> None:
    other = UserKeys(keys.user, 2 if keys.mechanism == 1 else 1, 4096, b"salt", bytes(64), bytes(64))
    records, results = bring_over({}, [keys, other], EAST, NOBODY, new_id)
    assert not records and [result.error for result in results] == [code]
    assert results[0].message and str(keys.salt) not in results[0].message


def test_a_full_table_takes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linked_users, "SCRAM_CREDENTIALS_MAX", 2)
    here = with_password(MetadataImage(), "alice", "pw", (1,))  # with the secret for salts: two
    records, results = bring_over(here.scram, [ALICE._replace(user="bob")], EAST, NOBODY, new_id)
    assert not records and results == [
        UserResult("bob", ErrorCode.UNACCEPTABLE_CREDENTIAL, "the cluster has 2 credentials")
    ]


def test_keys_that_are_named_twice_are_written_once() -> None:
    assert compare({}, [ALICE, ALICE._replace(salt=b"later")], EAST, NOBODY).due == [ALICE._replace(salt=b"later")]
