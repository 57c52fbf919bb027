"""ACLs, quotas and SCRAM credentials, asked of a Kafka that has none: the answers tools and MirrorMaker 2 know."""

from __future__ import annotations

from tests.differential.engine import Pair
from tests.differential.registry import scenario
from tests.support.wire import (
    ALTER_CLIENT_QUOTAS,
    CREATE_ACLS,
    CREATE_DELEGATION_TOKEN,
    DELETE_ACLS,
    DESCRIBE_ACLS,
    DESCRIBE_CLIENT_QUOTAS,
    DESCRIBE_DELEGATION_TOKEN,
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    EXPIRE_DELEGATION_TOKEN,
    RENEW_DELEGATION_TOKEN,
)

_ANY = 1
_FILTER = {
    "resource_type_filter": _ANY,
    "resource_name_filter": None,
    "pattern_type_filter": _ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": _ANY,
    "permission_type": _ANY,
}
_ACL = {
    "resource_type": 2,
    "resource_name": "t",
    "resource_pattern_type": 3,
    "principal": "User:a",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}


@scenario(DESCRIBE_ACLS)
def describe_acls(pair: Pair, v: int) -> None:
    pair.call(DESCRIBE_ACLS, v, _FILTER, "every ACL")


@scenario(CREATE_ACLS)
def create_acls(pair: Pair, v: int) -> None:
    pair.call(CREATE_ACLS, v, {"creations": [_ACL, _ACL | {"host": "10.0.0.1"}]}, "two ACLs")


@scenario(DELETE_ACLS)
def delete_acls(pair: Pair, v: int) -> None:
    pair.call(DELETE_ACLS, v, {"filters": [_FILTER]}, "every ACL")


@scenario(DESCRIBE_CLIENT_QUOTAS)
def describe_client_quotas(pair: Pair, v: int) -> None:
    pair.call(DESCRIBE_CLIENT_QUOTAS, v, {"components": [], "strict": False}, "every quota")
    filters: list[tuple[str, list[tuple[str, int, str | None]]]] = [
        ("an entity type that is not there", [("group", 0, "g")]),
        ("an empty entity type", [("", 0, "u")]),
        ("a type twice", [("user", 0, "a"), ("user", 0, "b")]),
        ("an exact match without a name", [("user", 0, None)]),
        ("a default with a name", [("user", 1, "a")]),
        ("any with a name", [("user", 2, "a")]),
        ("an unknown match", [("user", 5, None)]),
        ("an address and a user", [("ip", 2, None), ("user", 2, None)]),
    ]
    for what, parts in filters:
        components = [{"entity_type": kind, "match_type": match, "match": name} for kind, match, name in parts]
        pair.call(DESCRIBE_CLIENT_QUOTAS, v, {"components": components, "strict": True}, what)


@scenario(ALTER_CLIENT_QUOTAS)
def alter_client_quotas(pair: Pair, v: int) -> None:
    def alter(what: str, entity: dict[str, str | None], *ops: tuple[str, float, bool], validate: bool = False) -> None:
        parts = [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()]
        wanted = [{"key": key, "value": value, "remove": remove} for key, value, remove in ops]
        body = {"entries": [{"entity": parts, "ops": wanted}], "validate_only": validate}
        pair.call(ALTER_CLIENT_QUOTAS, v, body, what)

    alter("a user", {"user": f"u{v}"}, ("producer_byte_rate", 1e9, False), ("request_percentage", 200.5, False))
    alter("the default of client ids", {"client-id": None}, ("consumer_byte_rate", 1e9, False))
    alter("an address", {"ip": "10.0.0.7"}, ("connection_creation_rate", 1e6, False))
    alter("both", {"user": f"u{v}", "client-id": None}, ("consumer_byte_rate", 1e9, False))
    alter("only to validate", {"user": "never"}, ("producer_byte_rate", 5.0, False), validate=True)
    alter("no entity", {}, ("producer_byte_rate", 5.0, False))
    alter("an unknown type", {"group": "g"}, ("producer_byte_rate", 5.0, False))
    alter("an empty name", {"user": ""}, ("producer_byte_rate", 5.0, False))
    alter("an unknown quota", {"user": "a"}, ("speed", 5.0, False))
    alter("a quota of addresses for a user", {"user": "a"}, ("connection_creation_rate", 5.0, False))
    alter("nothing", {"user": "a"}, ("producer_byte_rate", 0.0, False))
    alter("a fraction of a byte", {"user": "a"}, ("producer_byte_rate", 1.5, False))
    alter("more than fits", {"user": "a"}, ("consumer_byte_rate", 1e20, False))
    alter("more connections than fit", {"ip": "10.0.0.7"}, ("connection_creation_rate", 3e9, False))
    alter("an address and a user", {"ip": "10.0.0.7", "user": "a"}, ("connection_creation_rate", 5.0, False))
    alter("a quota twice", {"user": "a"}, ("producer_byte_rate", 5.0, False), ("producer_byte_rate", 6.0, False))
    for kind, match, name in (("user", 0, f"u{v}"), ("client-id", 1, None), ("ip", 2, None), ("user", 0, "never")):
        wanted = {"components": [{"entity_type": kind, "match_type": match, "match": name}], "strict": True}
        pair.call(DESCRIBE_CLIENT_QUOTAS, v, wanted, f"{kind} {match}")
    alter("removed", {"user": f"u{v}"}, ("producer_byte_rate", 0.0, True), ("request_percentage", 0.0, True))
    both = [{"entity_type": kind, "match_type": 2, "match": None} for kind in ("user", "client-id")]
    pair.call(DESCRIBE_CLIENT_QUOTAS, v, {"components": both, "strict": True}, "a user and a client id")
    alter("both removed", {"user": f"u{v}", "client-id": None}, ("consumer_byte_rate", 0.0, True))
    alter("removed again", {"user": f"u{v}"}, ("producer_byte_rate", 0.0, True))
    alter("the default removed", {"client-id": None}, ("consumer_byte_rate", 0.0, True))
    alter("the address removed", {"ip": "10.0.0.7"}, ("connection_creation_rate", 0.0, True))
    pair.call(DESCRIBE_CLIENT_QUOTAS, v, {"components": [], "strict": False}, "none are left")


@scenario(DESCRIBE_USER_SCRAM_CREDENTIALS)
def describe_user_scram_credentials(pair: Pair, v: int) -> None:
    pair.call(DESCRIBE_USER_SCRAM_CREDENTIALS, v, {"users": None}, "every user")
    pair.call(DESCRIBE_USER_SCRAM_CREDENTIALS, v, {"users": [{"name": "a"}]}, "a user that is not there")
    pair.call(DESCRIBE_USER_SCRAM_CREDENTIALS, v, {"users": [{"name": "b"}, {"name": "b"}]}, "a user twice")


# On a listener without login all of them are refused; with logins: tests/differential/test_delegation_tokens.py.


@scenario(CREATE_DELEGATION_TOKEN)
def create_delegation_token(pair: Pair, v: int) -> None:
    wanted: dict[str, object] = {
        "owner_principal_type": None,
        "owner_principal_name": None,
        "renewers": [],
        "max_lifetime_ms": -1,
    }
    other = {"owner_principal_type": "User", "owner_principal_name": "alice"}
    pair.call(CREATE_DELEGATION_TOKEN, v, wanted, "a token for oneself")
    pair.call(CREATE_DELEGATION_TOKEN, v, wanted | other, "a token for another")


@scenario(RENEW_DELEGATION_TOKEN)
def renew_delegation_token(pair: Pair, v: int) -> None:
    pair.call(RENEW_DELEGATION_TOKEN, v, {"hmac": b"x", "renew_period_ms": -1}, "a token that is not there")


@scenario(EXPIRE_DELEGATION_TOKEN)
def expire_delegation_token(pair: Pair, v: int) -> None:
    pair.call(EXPIRE_DELEGATION_TOKEN, v, {"hmac": b"x", "expiry_time_period_ms": -1}, "a token that is not there")


@scenario(DESCRIBE_DELEGATION_TOKEN)
def describe_delegation_token(pair: Pair, v: int) -> None:
    pair.call(DESCRIBE_DELEGATION_TOKEN, v, {"owners": None}, "every token")
    pair.call(DESCRIBE_DELEGATION_TOKEN, v, {"owners": []}, "of nobody")
