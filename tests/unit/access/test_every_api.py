"""No API without a check: its row names an operation on the cluster, or its handler asks for each item."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import barnabas.broker.api
from barnabas.model.access import AclOperation
from barnabas.wire.apis import BY_ITEM, OPEN, SERVED, Api

HANDLERS = Path(barnabas.broker.api.__file__).parent
OPEN_APIS = {"api_versions", "sasl_handshake", "sasl_authenticate"}  # before anybody knows who asks
OPEN_APIS |= {"get_telemetry_subscriptions", "push_telemetry"}  # as in Kafka: only what a subscription asks for is kept


@pytest.mark.parametrize("api", SERVED.values(), ids=lambda api: api.name)
def test_every_api_says_who_may_use_it(api: Api) -> None:
    if isinstance(api.access, AclOperation):
        return
    assert api.access in (BY_ITEM, OPEN)
    if api.access == OPEN:
        assert api.name in OPEN_APIS
        return
    source = (HANDLERS / f"{api.name}.py").read_text()
    asks = re.search(
        r"\bmay\w*\(|\.may_use_tokens\b|require\w+\(|\bsees\(|\.allows\w*\(|permitted_changes\(|ask_permitted\("
        r"|config_refusal\(",
        source,
    )
    assert asks, f"{api.name} is checked by its handler, it says, and the handler asks nobody"


@pytest.mark.parametrize("api", [api for api in SERVED.values() if api.between_nodes], ids=lambda api: api.name)
def test_what_nodes_say_is_for_nodes(api: Api) -> None:
    assert api.access is AclOperation.CLUSTER_ACTION
