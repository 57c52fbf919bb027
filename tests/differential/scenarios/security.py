"""ACLs, quotas and SCRAM credentials, asked of a Kafka that has none: the answers tools and MirrorMaker 2 know."""

from __future__ import annotations

from tests.differential.engine import Pair
from tests.differential.registry import scenario
from tests.support.wire import (
    CREATE_ACLS,
    DELETE_ACLS,
    DESCRIBE_ACLS,
    DESCRIBE_CLIENT_QUOTAS,
    DESCRIBE_USER_SCRAM_CREDENTIALS,
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


@scenario(DESCRIBE_USER_SCRAM_CREDENTIALS)
def describe_user_scram_credentials(pair: Pair, v: int) -> None:
    pair.call(DESCRIBE_USER_SCRAM_CREDENTIALS, v, {"users": None}, "every user")
    pair.call(DESCRIBE_USER_SCRAM_CREDENTIALS, v, {"users": [{"name": "a"}]}, "a user that is not there")
    pair.call(DESCRIBE_USER_SCRAM_CREDENTIALS, v, {"users": [{"name": "b"}, {"name": "b"}]}, "a user twice")
