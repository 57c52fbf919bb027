"""`barnabas acl check`: the rules and settings of a cluster, and what they decide (operate/access/decision.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.cli.acl.resources import written_rightly
from barnabas.cli.common.failure import Failure
from barnabas.client.errors import BarnabasError
from barnabas.model.access_rules import AclFilter
from barnabas.operate.access import decision
from barnabas.operate.access.decision import SETTINGS, Asked, Decider, Told

if TYPE_CHECKING:
    from barnabas.client.admin.admin import Admin

__all__ = ["Asked", "Told", "checked", "decide"]

checked = written_rightly()(decision.checked)


def decide(cluster: Admin, asked: Asked) -> Told:
    checked(asked)
    settings = _settings(cluster)
    rules = cluster.acls(AclFilter(asked.resource_type, asked.name, "match")) if _is_on(settings) else []
    return Decider(rules, settings).decide(asked)


def _is_on(settings: dict[str, str | None]) -> bool:
    return bool(settings.get("authorizer.class.name", "unknown"))


def _settings(cluster: Admin) -> dict[str, str | None]:
    nodes = cluster.cluster().nodes
    if not nodes:
        raise Failure("the cluster has no node to ask")
    try:
        found = cluster.configs("broker", str(nodes[0].id))
    except BarnabasError:  # not allowed to see them: the rules alone decide
        return {}
    return {name: found[name].value for name in SETTINGS if name in found}
