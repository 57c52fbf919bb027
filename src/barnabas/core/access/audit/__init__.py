"""The audit trail, pure: what an event says, how repeats are folded, and what an administrative answer did."""
