"""Topics that a link fills from another cluster, for commands that are refused one.

A client is told POLICY_VIOLATION. librdkafka keeps the reason to itself, so the topic is asked which link it is.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.cli.common.failure import Failure
from barnabas.cli.common.options import to_paste

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeConfigsResponse

_TOPIC = 2  # of requests about settings
_LINK_NAME = "link.name"


def filled_by(bootstrap: str, topic: str) -> str:
    """What to say about a topic that a link fills, with the way out; "" for any other."""
    from barnabas.cli.common.cluster import Cluster
    from barnabas.wire.apis import DESCRIBE_CONFIGS

    asked = {"resource_type": _TOPIC, "resource_name": topic, "configuration_keys": [_LINK_NAME]}
    try:
        with Cluster(bootstrap) as cluster:
            answer: DescribeConfigsResponse = cluster.ask_any(DESCRIBE_CONFIGS, {"resources": [asked]})
    except Failure:  # the refusal is told all the same
        return ""
    link = next((each.value for result in answer.results for each in result.configs or () if each.value), "")
    if not link:
        return ""
    pattern = shlex.quote(topic.replace(".", "\\."))
    promote = to_paste(f"link promote {link} --topics {pattern}", bootstrap)
    return f"{topic} is filled by the link {link!r} and can only be read. To make an ordinary topic of it: {promote}"


@contextmanager
def told_with_link(bootstrap: str, topic: str, doing: str) -> Iterator[None]:
    from barnabas.client.errors import Refused
    from barnabas.model.errors import ErrorCode

    try:
        yield
    except Refused as refused:
        told = filled_by(bootstrap, topic) if refused.code is ErrorCode.POLICY_VIOLATION else ""
        if not told:
            raise
        raise Failure(f"{doing}: {told}") from None
