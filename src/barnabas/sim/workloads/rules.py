"""Allows the user `worker` everything about topics, groups and transactional ids, and ends."""

from typing import TYPE_CHECKING

from barnabas.model.access import AclOperation, AclPermission, AclResourceType, PatternType
from barnabas.sim.workloads.base import Workload
from barnabas.wire.apis import CREATE_ACLS

if TYPE_CHECKING:
    from barnabas.wire.messages import CreateAclsResponse


class Rules(Workload):
    kind = "rules"

    async def step(self) -> None:
        creations = [
            {
                "resource_type": int(kind),
                "resource_name": "*",
                "resource_pattern_type": int(PatternType.LITERAL),
                "principal": "User:worker",
                "host": "*",
                "operation": int(AclOperation.ALL),
                "permission_type": int(AclPermission.ALLOW),
            }
            for kind in (AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.TRANSACTIONAL_ID)
        ]
        answer: CreateAclsResponse = await self.client.ask(CREATE_ACLS, 3, {"creations": creations})
        self.finishing = not any(result.error_code for result in answer.results)
