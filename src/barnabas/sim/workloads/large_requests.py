"""A client that names very many things in one request, as a tool does that describes a whole cluster.

What it asks is bounded only by the limits of a request, so a node has to work it off in parts.
"""

from barnabas.sim.workloads.base import Workload

_METADATA, _DESCRIBE_CONFIGS = 3, 32
_GROUP = 32  # the kind of resource
_TOPICS, _GROUPS = 10_000, 3_000


class LargeRequests(Workload):
    kind = "large requests"
    pause_seconds = 4.0

    async def step(self) -> None:
        if self.random.random() < 0.5:
            topics = [{"topic_id": bytes(16), "name": f"unknown-{number}"} for number in range(_TOPICS)]
            await self.client.ask(_METADATA, 12, {"topics": topics, "allow_auto_topic_creation": False})
        else:
            resources = [
                {"resource_type": _GROUP, "resource_name": f"g{number}", "configuration_keys": [f"k{number}"]}
                for number in range(_GROUPS)
            ]
            body = {"resources": resources, "include_synonyms": False, "include_documentation": False}
            await self.client.ask(_DESCRIBE_CONFIGS, 4, body)
        self.progressed()
