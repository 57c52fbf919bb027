"""Coordinators: the machines of groups and transactions on the nodes that lead their partitions."""
