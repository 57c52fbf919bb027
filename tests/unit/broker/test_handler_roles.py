"""The node plays every role that a handler asks for. The handlers are found by name at run time, so nothing else
checks that what the dispatcher hands them is what they take."""

import inspect
from pathlib import Path

from barnabas.broker.api import roles
from barnabas.broker.node import Node
from barnabas.testing.node import RunningNode


def _plays(
    node: Node,
) -> tuple[
    roles.AdminNode,
    roles.AclsNode,
    roles.DescribeTopicsNode,
    roles.RegistrationNode,
    roles.QuorumNode,
    roles.EnvelopeNode,
    roles.GroupsNode,
    roles.TransactionsNode,
    roles.TxnOffsetsNode,
    roles.CoordinatorFinder,
    roles.DescribeClusterNode,
    roles.DescribeConfigsNode,
    roles.MetadataNode,
    roles.PartitionsNode,
    roles.LogDirsNode,
    roles.ServingNode,
]:
    """For mypy, which checks the types of all members."""
    return (node,) * 16


def test_a_running_node_has_the_members_of_every_role(tmp_path: Path) -> None:
    protocols = [each for _, each in inspect.getmembers(roles, inspect.isclass) if getattr(each, "_is_protocol", False)]
    members = {name for role in protocols for base in role.__mro__ for name in vars(base) if not name.startswith("_")}
    assert {"groups", "transactions", "controller", "image"} <= members
    node = RunningNode(tmp_path).start()
    try:
        assert {name for name in members if not hasattr(node._node, name)} == set()
    finally:
        node.stop()


def test_a_role_has_few_members_of_its_own_or_unites_smaller_ones() -> None:
    """A role of many members says nothing of what a function uses. Every handler may ask for access: not counted."""
    protocols = [each for _, each in inspect.getmembers(roles, inspect.isclass) if getattr(each, "_is_protocol", False)]
    for role in protocols:
        own = [name for name in vars(role) if not name.startswith("_")]
        members = {name for base in role.__mro__ for name in vars(base) if not name.startswith("_")}
        members.discard("access")
        assert len(members) <= 6 or len(own) <= 1, f"{role.__name__}: {sorted(members)}"
