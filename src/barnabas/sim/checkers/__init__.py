"""One invariant a file; H are seen by clients, S inside the node. Each gives a line for every violation it finds."""

from barnabas.sim.checkers import (
    h1_nothing_lost,
    h2_no_duplicates,
    h3_one_value,
    h4_h5_transactions,
    h6_copied_once,
    h7_order,
    h8_groups,
    h9_access,
)
from barnabas.sim.checkers.base import Checker, Final

CHECKERS: tuple[Checker, ...] = (
    h1_nothing_lost.check,
    h2_no_duplicates.check,
    h3_one_value.check,
    h4_h5_transactions.check,
    h6_copied_once.check,
    h7_order.check,
    h8_groups.check,
    h9_access.check,
)

__all__ = ["CHECKERS", "Checker", "Final"]
