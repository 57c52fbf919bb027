"""operate/access/resources.py on the command line: what is written wrongly is a usage error, exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.cli.common.failure import usage
from barnabas.operate.access import decision, resources
from barnabas.operate.access.resources import operations_of, shown
from barnabas.operate.unusable import Unusable

__all__ = ["check_rules", "operations_of", "principal_of", "resource_of", "rules_for", "shown", "written_rightly"]


@contextmanager
def written_rightly() -> Iterator[None]:
    try:
        yield
    except Unusable as problem:
        raise usage(problem.message, problem.way_out) from None


principal_of = written_rightly()(resources.principal_of)
resource_of = written_rightly()(resources.resource_of)
rules_for = written_rightly()(resources.rules_for)
check_rules = written_rightly()(decision.check_rules)
