"""What all parts of the page have in common: a request that makes no sense, and an answer that is a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.console.problems import NotAllowed, Problem, refused
from barnabas.model.errors import ErrorCode
from barnabas.operate.unusable import Unusable

_OFF = "Start the nodes with --secure, or with authorizer.class.name and super.users: docs/security.md says how."
_FORBIDDEN = (
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH,
)


@contextmanager
def written_rightly() -> Iterator[None]:
    try:
        yield
    except Unusable as problem:
        raise Problem(problem.message, problem.way_out) from None


def check(code: int, doing: str, message: str | None = None) -> None:
    if not code:
        return
    if code == ErrorCode.SECURITY_DISABLED:
        raise Problem("access control is off in this cluster", _OFF, 409)
    if code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED:
        raise Problem(
            "delegation tokens are off in this cluster",
            "Give all nodes the same delegation.token.secret.key: docs/security.md says how.",
            409,
        )
    if code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED:
        raise Problem(
            "tokens are only for people who have signed in, and not with a token", "Sign in with a password.", 409
        )
    if code in _FORBIDDEN:
        raise NotAllowed(f"{doing}: the cluster does not allow it to you", "An admin can add a rule for it.")
    raise refused(code, doing, message)
