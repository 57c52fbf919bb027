"""Mistakes in how a node serves requests: the loop, long polls."""

from barnabas.sim.bugs.requests import pause_forgotten, waiter_leaks

BUGS = (pause_forgotten.BUG, waiter_leaks.BUG)
