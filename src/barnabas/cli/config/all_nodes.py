"""Settings of all nodes: on the wire those of the broker without a name, which librdkafka refuses to ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.cli.common.cluster import Cluster
from barnabas.cli.common.failure import Failure
from barnabas.client.admin.descriptions import ConfigValue
from barnabas.wire.apis import DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeConfigsResponse, IncrementalAlterConfigsResponse

_BROKER = 4  # ConfigResource.Type
_OPERATIONS = {"set": 0, "delete": 1, "append": 2, "subtract": 3}


def read(bootstrap: str) -> dict[str, ConfigValue]:
    """What was set for all nodes; every other setting is each node's own."""
    wanted = {"resource_type": _BROKER, "resource_name": "", "configuration_keys": None}
    with Cluster(bootstrap) as cluster:
        answer: DescribeConfigsResponse = cluster.ask_any(
            DESCRIBE_CONFIGS, {"resources": [wanted], "include_synonyms": False}
        )
    (found,) = answer.results
    _check(found.error_code, found.error_message, "read")
    return {
        each.name: ConfigValue(each.value, None, "cluster", each.read_only, each.is_sensitive) for each in found.configs
    }


def known(bootstrap: str) -> dict[str, ConfigValue]:
    """The settings that a node has, and what was set for all of them."""
    from barnabas.cli.common.link import admin

    with Cluster(bootstrap) as cluster:
        some_node = min(cluster.brokers)
    with admin(bootstrap) as opened:
        return opened.configs("broker", some_node) | read(bootstrap)


def change(bootstrap: str, how: str, changes: dict[str, str]) -> None:
    configs = [
        {"name": name, "config_operation": _OPERATIONS[how], "value": None if how == "delete" else value}
        for name, value in changes.items()
    ]
    resource = {"resource_type": _BROKER, "resource_name": "", "configs": configs}
    with Cluster(bootstrap) as cluster:
        answer: IncrementalAlterConfigsResponse = cluster.ask_any(
            INCREMENTAL_ALTER_CONFIGS, {"resources": [resource], "validate_only": False}
        )
    (done,) = answer.responses
    _check(done.error_code, done.error_message, "change")


def _check(code: int, message: str | None, doing: str) -> None:
    if code:
        raise Failure(f"{doing} the settings of all nodes: {message or f'error {code}'}")
