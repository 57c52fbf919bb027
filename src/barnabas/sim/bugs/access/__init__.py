"""Mistakes in who may do what: checks that are forgotten."""

from barnabas.sim.bugs.access import write_unchecked

BUGS = (write_unchecked.BUG,)
