"""A node inside your test: started in milliseconds on a free port, stopped when the test ends.

    from barnabas.testing import running_node

    def test_orders():
        with running_node() as node:
            producer = Producer(node.bootstrap)
            node.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER")
            ...

With pytest, ask for the fixture `barnabas_node` and get the same. It is the real node, with its real log in a temporary
folder; only the process is yours.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.testing.node import RunningNode, running_node

__all__ = ["RunningNode", "running_node"]


def __getattr__(name: str) -> Any:
    """Loaded when first used: the pytest plugin in this package is imported by every pytest run of the environment."""
    if name not in __all__:
        raise AttributeError(name)
    from barnabas.testing import node

    return getattr(node, name)
