"""A partition on this node: its replica, its role, appends, following, settings and checkpoints."""
