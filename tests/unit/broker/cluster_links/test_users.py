"""A link's users, round by round: asked for once, brought over when something changed, and problems in one line."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from barnabas.broker.cluster_links import users
from barnabas.broker.cluster_links.source import LinkSettings
from barnabas.broker.cluster_links.users import UserSync
from barnabas.core.cluster.access.linked_users import UserKeys, bring_over, given
from barnabas.core.cluster.image import MetadataImage
from barnabas.link.errors import UnknownApi
from barnabas.model.errors import ErrorCode
from barnabas.model.settings import Settings
from barnabas.wire.apis import ALTER_LINKED_USERS, DESCRIBE_SCRAM_KEYS
from barnabas.wire.codec import decode_request, decode_response, encode_request, encode_response
from tests.unit.cluster.access.test_linked_users import changed, new_id, with_password

STORED = {"security.protocol": "SASL_SSL", "source.cluster.id": "east"}
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Source:
    """A cluster that gives the keys of its users, as the handler does."""

    def __init__(self) -> None:
        self.image = MetadataImage()
        self.refusal: tuple[ErrorCode, str | None] | None = None
        self.is_kafka = False
        self.gave: list[int] = []

    async def ask_any(self, api_key: int, body: Mapping[str, object], newest: int) -> Any:
        if self.is_kafka:
            raise UnknownApi("the node does not know DescribeScramKeys")
        request = decode_request(DESCRIBE_SCRAM_KEYS, 0, encode_request(DESCRIBE_SCRAM_KEYS, 0, body))
        if self.refusal is not None:
            code, message = self.refusal
            return decode_response(
                api_key, 0, encode_response(api_key, 0, {"error_code": int(code), "error_message": message})
            )
        told = given(self.image.scram)
        keys = [] if told.digest == request.known_digest else [each._asdict() for each in told.keys]
        self.gave.append(len(keys))
        answer = {"error_code": 0, "digest": told.digest, "users_left_out": told.left_out, "keys": keys}
        return decode_response(api_key, 0, encode_response(api_key, 0, answer))


class Target:
    """This cluster: its image, and the controller that changes it."""

    node_id, broker_epoch = 1, 1

    def __init__(self, **settings: str) -> None:
        self.image = MetadataImage()
        self.settings = Settings({name.replace("_", "."): value for name, value in settings.items()})
        self.asked: list[int] = []

    async def ask(self, api_key: int, version: int, body: Mapping[str, object], timeout_ms: int | None = None) -> Any:
        request = decode_request(ALTER_LINKED_USERS, 0, encode_request(ALTER_LINKED_USERS, 0, body))
        self.asked.append(len(request.keys))
        keys = [
            UserKeys(k.user, k.mechanism, k.iterations, bytes(k.salt), bytes(k.stored_key), bytes(k.server_key))
            for k in request.keys
        ]
        records, results = bring_over(self.image.scram, keys, request.source_cluster_id, frozenset(), new_id)
        self.image = changed(self.image, records)
        done = [{"user": r.user, "error_code": int(r.error), "error_message": r.message} for r in results]
        return decode_response(api_key, 0, encode_response(api_key, 0, {"error_code": 0, "results": done}))


class Audit:
    def __init__(self) -> None:
        self.told: list[str] = []

    def linked_users(self, link: str, users: list[str]) -> None:
        self.told += users


def sync_of(source: Source, target: Target, audit: Audit | None = None, stored: Mapping[str, str] = STORED) -> UserSync:
    settings = LinkSettings(stored)
    nodes: Any = source
    trail: Any = audit
    return UserSync("link", settings, nodes, target, target.ask, trail)


def rounds(sync: UserSync, count: int = 1) -> list[str]:
    """The problems of the last of so many rounds."""
    problems: list[str] = []
    for _ in range(count):
        problems = asyncio.run(sync.sync())
    return problems


def test_keys_are_given_once_and_again_when_something_changes_at_either_end() -> None:
    source, target, audit = Source(), Target(), Audit()
    source.image = with_password(MetadataImage(), "alice", "first")
    sync = sync_of(source, target, audit)
    assert rounds(sync, 4) == []
    assert source.gave == [2, 2, 0, 0], "brought over, compared once more, and then nothing to give"
    assert (target.asked, sync.count, audit.told) == ([2], 1, ["alice"])

    source.image = with_password(source.image, "alice", "second")
    rounds(sync, 3)
    assert target.image.scram["alice", 2][:4] == source.image.scram["alice", 2][:4]
    assert target.asked == [2, 2] and source.gave[-1] == 0

    target.image = MetadataImage()  # somebody has deleted all users here
    rounds(sync, 3)
    assert ("alice", 2) in target.image.scram and source.gave[-1] == 0


def test_users_of_this_cluster_are_named_and_asked_about_no_more() -> None:
    source = Source()
    target = Target(authorizer_class_name=AUTHORIZER, super_users="User:root;User:admin")
    target.image = with_password(MetadataImage(), "admin", "ours")
    for user in ("admin", "alice", "root"):
        source.image = with_password(source.image, user, "theirs")
    sync = sync_of(source, target)
    assert rounds(sync, 3) == []
    assert (sync.own, sync.count) == (["admin", "root"], 1)
    assert target.asked == [2] and source.gave[-1] == 0


@pytest.mark.parametrize(
    ("stored", "kafka", "refusal", "said"),
    [
        ({"security.protocol": "SASL_PLAINTEXT"}, False, None, "security.protocol of the link has no TLS"),
        ({"source.cluster.id": ""}, False, None, "barnabas link login link"),
        ({}, True, None, "it is Apache Kafka, or an older Barnabas"),
        ({}, False, (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "x"), "needs CLUSTER_ACTION on the cluster there"),
        ({}, False, (ErrorCode.POLICY_VIOLATION, "only with TLS"), "only with TLS"),
    ],
)
def test_what_stands_in_the_way_is_one_line(
    stored: dict[str, str], kafka: bool, refusal: tuple[ErrorCode, str] | None, said: str
) -> None:
    source, target = Source(), Target()
    source.image = with_password(MetadataImage(), "alice", "first")
    source.is_kafka, source.refusal = kafka, refusal
    (problem,) = rounds(sync_of(source, target, stored=STORED | stored))
    assert said in problem and "\n" not in problem
    assert not target.asked


def test_many_users_are_written_in_parts_and_none_is_cut_in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "SCRAM_CHANGES_MAX", 6)
    source, target = Source(), Target()
    for number in range(5):
        source.image = with_password(source.image, f"user-{number}", "pw")
    sync = sync_of(source, target)
    rounds(sync)
    assert target.asked == [4, 4, 2] and sync.count == 5


def test_what_cannot_be_used_is_said_and_the_others_come() -> None:
    source, target = Source(), Target()
    source.image = with_password(with_password(MetadataImage(), "alice", "first"), "bob", "first")
    broken = {
        key: kept._replace(iterations=7) if key[0] == "alice" else kept for key, kept in source.image.scram.items()
    }
    object.__setattr__(source.image, "scram", broken)
    sync = sync_of(source, target)
    assert rounds(sync) == ["user 'alice' does not come over: 7 iterations"]
    assert sync.count == 1
