"""The audit trail of a node that has one; a node without does not import it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.access import Access
    from barnabas.broker.audit.trail import AuditTrail
    from barnabas.broker.audit.writer import AuditNode
    from barnabas.broker.clock import Clock
    from barnabas.broker.network.listener import Listener
    from barnabas.model.settings import Settings


def audit_of(
    node: AuditNode, settings: Settings, clock: Clock, access: Access | None, listener: Listener
) -> AuditTrail | None:
    """None without `audit.enable`. Whoever decides about access or connections tells it what was refused."""
    if not settings.bool("audit.enable"):
        return None
    from barnabas.broker.audit.trail import AuditTrail

    trail = AuditTrail(node, settings, clock, access, listener.connections)
    listener.audit = trail
    if access is not None:
        access.audit = trail
    return trail
