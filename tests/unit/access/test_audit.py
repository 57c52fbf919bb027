"""The audit trail, pure: how repeats are folded, what an answer says was done, and what an event looks like."""

from __future__ import annotations

import json

from barnabas.core.access.audit.administration import ADMINISTRATION, done_by, is_audited
from barnabas.core.access.audit.event import ACCESS, LOGIN, AuditEvent, cut, line
from barnabas.core.access.audit.event import ADMINISTRATION as CHANGE
from barnabas.core.access.audit.folding import OTHERS, Folding
from barnabas.model.errors import ErrorCode
from barnabas.model.limits import AUDIT_TEXT_CHARS, AUDITED_ITEMS_MAX
from barnabas.wire import apis
from barnabas.wire.apis import SERVED
from barnabas.wire.codec import request_of, response_of

REFUSED = int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def refusal(resource: str = "topic:t", principal: str = "User:bob", time_ms: int = 1_000) -> AuditEvent:
    return AuditEvent(ACCESS, False, time_ms, principal=principal, host="10.0.0.1", resource=resource)


# --- folding ---------------------------------------------------------------------------------------------------------


def test_the_first_is_told_at_once_and_what_follows_once_an_interval() -> None:
    folding = Folding(100, 10, 10)
    assert folding.add(refusal(), 0) == refusal()
    assert [folding.add(refusal(time_ms=1_000 + n), n) for n in range(1, 50)] == [None] * 49
    assert folding.due(99) == []
    (summary,) = folding.due(100)
    assert (summary.count, summary.since_ms, summary.time_ms) == (49, 1_001, 1_049)
    assert folding.add(refusal(), 101) is None, "it goes on, and so does the counting"
    assert [event.count for event in folding.due(200)] == [1]
    assert folding.due(300) == [], "a quiet interval"
    assert folding.add(refusal(), 301) is not None, "then the next one is news again"


def test_another_decision_is_another_event() -> None:
    folding = Folding(100, 10, 10)
    allowed = AuditEvent(ACCESS, True, 1_000, principal="User:bob", host="10.0.0.1", resource="topic:t")
    for event in (refusal(), allowed, refusal("topic:u"), refusal(principal="User:eve")):
        assert folding.add(event, 0) is event


def test_one_source_cannot_take_the_place_of_others_and_nothing_goes_uncounted() -> None:
    folding = Folding(100, 50, 5)
    told = [event for n in range(1_000) if (event := folding.add(refusal(f"topic:{n}"), 0)) is not None]
    assert len(told) == 6 and told[-1].resource == OTHERS and told[-1].principal == "User:bob"
    assert folding.add(refusal(principal="User:eve"), 0) is not None
    assert sum(event.count for event in told + folding.due(100)) == 1_000


def test_many_sources_are_bounded_too() -> None:
    folding = Folding(100, 50, 5)
    told = [event for n in range(1_000) if (event := folding.add(refusal(principal=f"User:{n}"), 0)) is not None]
    assert len(told) == 51 and len(folding) == 51 and told[-1].principal == OTHERS
    assert sum(event.count for event in told + folding.due(100)) == 1_000
    folding.due(200)
    assert len(folding) == 0 and folding.next_ms is None


def test_logins_are_limited_by_address_since_the_name_is_the_strangers_own() -> None:
    folding = Folding(100, 50, 5)
    logins = [AuditEvent(LOGIN, False, 1_000, principal=f"User:{n}", host="10.0.0.9") for n in range(100)]
    told = [event for each in logins if (event := folding.add(each, 0)) is not None]
    assert len(told) == 6 and (told[-1].host, told[-1].principal) == ("10.0.0.9", OTHERS)


def test_every_change_of_an_administrator_is_told() -> None:
    folding = Folding(100, 50, 5)
    for n in range(200):
        change = AuditEvent(CHANGE, True, 1_000, principal="User:admin", resource=f"topic:{n}")
        assert folding.add(change, 0) is change
    assert len(folding) <= 25, "they leave room for what is folded"


# --- events ----------------------------------------------------------------------------------------------------------


def test_a_line_is_json_without_what_is_not_known() -> None:
    found = json.loads(line(refusal(time_ms=1_700_000_000_123), 3, 7))
    assert found == {
        "time": "2023-11-14T22:13:20.123Z", "node": 3, "sequence": 7, "event": "access", "allowed": False,
        "principal": "User:bob", "host": "10.0.0.1", "resource": "topic:t", "count": 1,
    }  # fmt: skip


def test_what_a_client_says_at_length_is_cut() -> None:
    event = AuditEvent(ACCESS, False, 1, client_id="c" * 100_000, resource="group:" + "g" * 32_000, reason="r" * 9_000)
    assert len(line(cut(event), 1, 1)) < 1_500
    assert len(cut(event).resource) == AUDIT_TEXT_CHARS and cut(event).resource.endswith("...")
    assert cut(refusal()) == refusal()


# --- administration --------------------------------------------------------------------------------------------------


def test_topics_are_told_one_by_one_with_their_errors() -> None:
    answer = response_of(
        apis.CREATE_TOPICS,
        {
            "topics": [
                {"name": "a", "error_code": 0},
                {"name": "b", "error_code": int(ErrorCode.TOPIC_ALREADY_EXISTS)},
                {"name": "c", "error_code": int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)},
            ]
        },
    )
    request = request_of(apis.CREATE_TOPICS, {"topics": [], "validate_only": True})
    done, more = done_by("create_topics", request, answer)
    assert [(each.resource, each.refused, each.error) for each in done] == [
        ("topic:a", False, ""), ("topic:b", False, "TOPIC_ALREADY_EXISTS"), ("topic:c", True, ""),
    ]  # fmt: skip
    assert more == 0 and done[0].detail == "validated only"


def test_settings_are_told_by_name_and_never_by_value() -> None:
    change = {"name": "ssl.keystore.password", "config_operation": 0, "value": "hunter2"}
    request = request_of(
        apis.INCREMENTAL_ALTER_CONFIGS,
        {"resources": [{"resource_type": 4, "resource_name": "1", "configs": [change]}]},
    )
    answer = response_of(
        apis.INCREMENTAL_ALTER_CONFIGS,
        {"responses": [{"error_code": 0, "error_message": None, "resource_type": 4, "resource_name": "1"}]},
    )
    ((done,), _) = done_by("incremental_alter_configs", request, answer)
    assert (done.resource, done.detail) == ("broker:1", "ssl.keystore.password")


def test_a_request_about_many_is_told_up_to_a_bound() -> None:
    answer = response_of(
        apis.DELETE_GROUPS, {"results": [{"group_id": f"g{n}", "error_code": 0} for n in range(2_000)]}
    )
    done, more = done_by("delete_groups", request_of(apis.DELETE_GROUPS, {"groups_names": []}), answer)
    assert len(done) == AUDITED_ITEMS_MAX and more == 2_000 - AUDITED_ITEMS_MAX


def test_offsets_of_members_are_not_told_and_those_that_somebody_sets_are() -> None:
    member = {"group_id": "g", "generation_id_or_member_epoch": 3, "member_id": "m", "topics": []}
    stranger = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": "", "topics": []}
    assert not is_audited("offset_commit", request_of(apis.OFFSET_COMMIT, member))
    assert is_audited("offset_commit", request_of(apis.OFFSET_COMMIT, stranger))


def test_keys_that_were_given_are_told_by_whose_they_are_and_asking_in_vain_is_not() -> None:
    keys = [{"user": user, "mechanism": n, "salt": b"secret-salt"} for user in ("ada", "bob") for n in (1, 2)]
    request = request_of(apis.DESCRIBE_SCRAM_KEYS, {})

    def told(**answer: object) -> list[tuple[str, str, bool]]:
        found, _ = done_by("describe_scram_keys", request, response_of(apis.DESCRIBE_SCRAM_KEYS, answer))
        return [(each.resource, each.detail, each.refused) for each in found]

    assert told(error_code=0, keys=keys) == [("cluster", "keys of 2 users: ada, bob", False)]
    assert told(error_code=0, keys=[]) == [], "a link asks every few seconds"
    assert told(error_code=REFUSED) == [("cluster", "", True)]


def test_everything_that_only_the_controller_changes_is_told() -> None:
    """A new API that changes the cluster has to be in the table."""
    changing = {api.name for api in SERVED.values() if api.forwarded and not api.only_reads}
    assert changing <= set(ADMINISTRATION)


def test_the_table_reads_every_answer_that_refuses_all() -> None:
    """Each row is run on an empty request and an empty answer of its API: names of fields are right."""
    for api in SERVED.values():
        if api.name in ADMINISTRATION:
            fields = {"error_code": REFUSED} if _has_code(api.key) else {}
            done, more = done_by(api.name, request_of(api.key, {}), response_of(api.key, fields))
            assert more == 0
            assert all(each.refused for each in done) or api.name == "offset_commit"


def _has_code(api_key: int) -> bool:
    return hasattr(response_of(api_key, {}), "error_code")
