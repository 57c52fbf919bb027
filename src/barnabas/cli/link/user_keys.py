"""`link create --users`: does the source give the keys of its users? Asked before the link is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.cli.common.cluster import Cluster
from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import to_paste
from barnabas.link.codes import name_of
from barnabas.model.errors import ErrorCode
from barnabas.model.settings.listener_security import TLS_PROTOCOLS
from barnabas.wire.apis import DESCRIBE_SCRAM_KEYS

if TYPE_CHECKING:
    from barnabas.cli.link.links import Settings
    from barnabas.wire.messages import DescribeScramKeysResponse

_WITHOUT = "or leave out --users."


def check_login(source: str, settings: Settings) -> None:
    """By the client profile alone."""
    protocol = settings.get("security.protocol") or "PLAINTEXT"
    if protocol.upper() not in TLS_PROTOCOLS:
        raise usage(
            f"--users: the client profile of {source} has security.protocol={protocol}, and keys of users need TLS",
            f"Log in at a listener with TLS, {_WITHOUT}",
        )


def check_source(source: str, user: str) -> None:
    """As the link will log in there."""
    with Cluster(source) as cluster:
        if not cluster.speaks(DESCRIBE_SCRAM_KEYS):
            raise Failure(
                f"--users: {source} does not give the keys of its users: it is Apache Kafka, or an older Barnabas",
                "Leave out --users.",
            )
        body = {"known_digest": b"", "check_only": True}
        answer: DescribeScramKeysResponse = cluster.ask_any(DESCRIBE_SCRAM_KEYS, body)
    if answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        grant = to_paste(f"acl add {user or 'USER'} cluster-action cluster", source)
        raise Failure(
            f"--users: {user or 'whoever logs in'} needs CLUSTER_ACTION on the cluster at {source}",
            f"Give it that ({grant}), {_WITHOUT}",
        )
    if answer.error_code:
        raise Failure(
            f"--users: {source} refuses: {answer.error_message or name_of(answer.error_code)}",
            "Leave out --users.",
        )
