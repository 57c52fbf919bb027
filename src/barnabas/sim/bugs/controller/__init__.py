"""Mistakes of the controller: who leads, who is in sync."""

from barnabas.sim.bugs.controller import any_replica_leads, power_loss_unnoticed, stale_leader_obeyed

BUGS = (stale_leader_obeyed.BUG, power_loss_unnoticed.BUG, any_replica_leads.BUG)
