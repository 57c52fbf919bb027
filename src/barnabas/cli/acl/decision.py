"""`barnabas acl check`: the rules and settings of a cluster, and what they decide (operate/access/decision.py)."""

from __future__ import annotations

from barnabas.cli.acl.cluster import Rules
from barnabas.cli.acl.resources import written_rightly
from barnabas.model.access_rules import AclFilter
from barnabas.operate.access import decision
from barnabas.operate.access.decision import Asked, Decider, Told
from barnabas.operate.access.rule_messages import known

__all__ = ["Asked", "Told", "checked", "decide"]

checked = written_rightly()(decision.checked)


def decide(cluster: Rules, asked: Asked) -> Told:
    settings = cluster.settings()
    is_on = Decider((), settings).is_on
    rules = cluster.find(AclFilter(asked.resource_type, asked.name, "match")) if is_on else []
    return Decider(known(rules), settings).decide(asked)
