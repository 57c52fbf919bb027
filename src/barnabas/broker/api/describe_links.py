"""DescribeLinks (10000), version 0: how far the links of this cluster are, for the partitions that this node leads.

An API of our own, for `barnabas link status`, which asks every node. Version 0 is flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.cluster_links.linked import UNKNOWN, Linked
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import in_turns
from barnabas.core.cluster.links import promoted_topics
from barnabas.model.settings import ResourceType

if TYPE_CHECKING:
    from barnabas.broker.api.roles import LinksNode
    from barnabas.wire.messages import (
        DescribedLinkBody,
        DescribeLinksRequest,
        DescribeLinksResponseBody,
        LinkedPartitionBody,
    )


async def handle(node: LinksNode, request: DescribeLinksRequest, context: RequestContext) -> DescribeLinksResponseBody:
    known = [name for kind, name in node.image.configs if kind == ResourceType.LINK]
    asked = frozenset(request.names)
    wanted = [name for name in known if name in asked] if asked else known
    promoted = promoted_topics(node.image, wanted) if wanted else {}
    links = [await _link(node, name, promoted[name]) for name in wanted]
    return {"error_code": 0, "error_message": None, "links": links}


async def _link(node: LinksNode, name: str, promoted: list[str]) -> DescribedLinkBody:
    links = node.cluster_links
    link, sync = links.running.get(name), links.syncs.get(name)
    return {
        "name": name,
        "error_message": links.unusable.get(name) if link is None else link.error or None,
        "unreached_ms": UNKNOWN if link is None else link.unreached_ms,
        "keeps_topics": sync is not None,
        "synced_ms": -1 if sync is None else sync.synced_ms,
        "sync_error_message": None if sync is None else sync.error or None,
        "promoted_topics": promoted,
        "users": -1 if sync is None or sync.users is None else sync.users.count,
        "own_users": [] if sync is None or sync.users is None else sync.users.own,
        "partitions": [] if link is None else await in_turns(list(link.linked.values()), _partition),
    }


def _partition(linked: Linked) -> LinkedPartitionBody:
    topic, index = linked.partition.id
    return {
        "topic": topic,
        "partition_index": index,
        "source_end_offset": linked.source_end,
        "end_offset": linked.end_offset,
        "caught_up_ms": linked.caught_up_ms,
        "bytes_fetched": linked.bytes_in,
        "records_skipped": linked.skipped,
        "error_message": linked.error or None,
    }
