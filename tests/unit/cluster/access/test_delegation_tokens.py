"""Delegation tokens at the controller: who may, for how long, what a log and a snapshot of it hold, the bounds."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.core.access.delegation_tokens import TokensByHmac, token_hmac
from barnabas.core.cluster import EMPTY_IMAGE
from barnabas.core.cluster.access import delegation_tokens as tokens
from barnabas.core.cluster.access.delegation_tokens import NewToken
from barnabas.core.cluster.record_codec import decode_record, encode_record
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings import Settings
from tests.unit.cluster.stage import Stage

SECRET = "secret"
NOW, DAY = 1_700_000_000_000, 86_400_000
OWN = NewToken("User:alice", "User:alice", ("User:bob",), -1)


def stage(**settings: str) -> Stage:
    return Stage(settings=Settings({"delegation.token.secret.key": SECRET} | settings))


def code_of(made: Stage, method: str, *args: Any) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        made.do(method, *args)
    return refused.value.code


def test_a_token_is_in_the_log_and_in_a_snapshot() -> None:
    made = stage()
    token, hmac = made.do("create_token", OWN, NOW)
    assert hmac == token_hmac(SECRET, token.token_id)
    assert (token.issued_ms, token.expires_ms, token.max_ms) == (NOW, NOW + DAY, NOW + 7 * DAY)
    assert made.replayed().tokens == made.image.tokens == {token.token_id: token}
    snapshot = [decode_record(encode_record(record)) for record in made.image.to_records()]
    assert EMPTY_IMAGE.apply(snapshot).tokens == made.image.tokens
    assert SECRET.encode() not in b"".join(made.log) and hmac not in b"".join(made.log)
    before = made.image
    made.do("expire_token", hmac, "User:bob", -1, NOW)
    assert not made.image.tokens and not made.replayed().tokens and before.tokens


def test_the_old_name_of_the_key() -> None:
    made = Stage(settings=Settings({"delegation.token.master.key": SECRET}))
    token, hmac = made.do("create_token", OWN, NOW)
    assert hmac == token_hmac(SECRET, token.token_id)


def test_without_a_key_there_are_no_tokens() -> None:
    made = Stage()
    assert code_of(made, "create_token", OWN, NOW) is ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    assert code_of(made, "renew_token", b"", "User:a", 1, NOW) is ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    assert code_of(made, "expire_token", b"", "User:a", 1, NOW) is ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


def test_renewing_ends_at_the_maximum() -> None:
    made = stage()
    token, hmac = made.do("create_token", OWN._replace(max_lifetime_ms=2 * DAY), NOW)
    assert made.do("renew_token", hmac, "User:bob", -1, NOW + DAY // 2) == NOW + DAY // 2 + DAY
    assert made.do("renew_token", hmac, "User:alice", -1, NOW + DAY + DAY // 4) == token.max_ms
    assert code_of(made, "renew_token", hmac, "User:carol", -1, NOW) is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert code_of(made, "renew_token", hmac, "User:alice", -1, NOW + 3 * DAY) is ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert code_of(made, "renew_token", b"?", "User:alice", -1, NOW) is ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_the_controller_removes_what_has_expired() -> None:
    made = stage()
    _, short = made.do("create_token", OWN, NOW)
    kept, _ = made.do("create_token", OWN, NOW + DAY)
    made.do("expire_token", short, "User:alice", 5, NOW)
    assert made.do("remove_expired_tokens", NOW + 5) == 0
    assert made.do("remove_expired_tokens", NOW + 6) == 1
    assert list(made.image.tokens) == [kept.token_id]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (OWN._replace(owner="Group:admins"), ErrorCode.INVALID_PRINCIPAL_TYPE),
        (OWN._replace(renewers=("User:a", "Role:b")), ErrorCode.INVALID_PRINCIPAL_TYPE),
        (OWN._replace(renewers=("User:" + "a" * 5_000,)), ErrorCode.INVALID_REQUEST),
    ],
)
def test_principals_that_are_refused(wanted: NewToken, code: ErrorCode) -> None:
    assert code_of(stage(), "create_token", wanted, NOW) is code


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "DELEGATION_TOKENS_PER_OWNER_MAX", 2)
    monkeypatch.setattr(tokens, "DELEGATION_TOKENS_MAX", 3)
    made = stage()
    for _ in range(2):
        made.do("create_token", OWN, NOW)
    assert code_of(made, "create_token", OWN, NOW) is ErrorCode.POLICY_VIOLATION
    made.do("create_token", OWN._replace(owner="User:bob"), NOW)
    assert code_of(made, "create_token", OWN._replace(owner="User:carol"), NOW) is ErrorCode.POLICY_VIOLATION


def test_an_index_follows_the_tokens() -> None:
    made, index = stage(), TokensByHmac(SECRET)
    hmacs = [made.do("create_token", OWN, NOW)[1] for _ in range(3)]
    assert all(index.find(made.image.tokens, hmac) is not None for hmac in hmacs)
    made.do("expire_token", hmacs[1], "User:alice", -1, NOW)
    assert [index.find(made.image.tokens, hmac) is not None for hmac in hmacs] == [True, False, True]
