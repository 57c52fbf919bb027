"""A node inside your test: started in milliseconds on a free port, stopped when the test ends.

    from barnabas.testing import running_node

    def test_orders():
        with running_node() as node:
            producer = Producer(node.bootstrap)
            node.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER")
            ...

With pytest, ask for the fixture `barnabas_node` (or `barnabas_cluster`, three nodes) and get the same. They are real
nodes, with their real logs in a temporary folder; only the process is yours.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.testing.cluster import RunningCluster, running_cluster
    from barnabas.testing.node import RunningNode, running_node
    from barnabas.testing.pipeline import PipelineTest, pipeline_test

__all__ = ["PipelineTest", "RunningCluster", "RunningNode", "pipeline_test", "running_cluster", "running_node"]


def __getattr__(name: str) -> Any:  # a class or a function of this package, which the imports above declare
    """Loaded when first used: the pytest plugin in this package is imported by every pytest run of the environment."""
    if name not in __all__:
        raise AttributeError(name)
    if name in ("PipelineTest", "pipeline_test"):
        from barnabas.testing import pipeline

        return getattr(pipeline, name)
    from barnabas.testing import cluster, node

    return getattr(cluster if name.lower().endswith("cluster") else node, name)
