"""Settings of topics, nodes and groups: read with their meaning, changed one by one."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.console.problems import Problem, refused
from barnabas.link.async_nodes import AsyncNodes
from barnabas.wire.apis import DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeConfigsResponse, IncrementalAlterConfigsResponse

TOPIC, BROKER, GROUP = 2, 4, 32
_SET, _DELETE = 0, 1
_SOURCES = {
    1: "this topic",
    2: "this node",
    3: "every node",
    4: "the node's file",
    5: "the default",
    8: "this group",
}
_DEFAULT = 5
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_TYPES = {1: "boolean", 2: "text", 3: "number", 4: "number", 5: "number", 6: "number", 7: "list", 9: "password"}


async def read_settings(nodes: AsyncNodes, kind: int, name: str, *, node: int | None = None) -> list[dict[str, object]]:
    """Sorted by name; secrets have no value. Settings of a node are asked of that node."""
    body = {
        "resources": [{"resource_type": kind, "resource_name": name, "configuration_keys": None}],
        "include_synonyms": True,
        "include_documentation": True,
    }
    asked = nodes.ask_any(DESCRIBE_CONFIGS, body) if node is None else nodes.ask(node, DESCRIBE_CONFIGS, body)
    answer: DescribeConfigsResponse = await asked
    result = answer.results[0]
    if result.error_code:
        raise refused(result.error_code, f"settings of {name}", result.error_message)
    return [
        {
            "name": each.name,
            "value": None if each.is_sensitive else each.value,
            "sensitive": each.is_sensitive,
            "read_only": each.read_only,
            "source": _SOURCES.get(each.config_source, "elsewhere"),
            "is_default": each.config_source == _DEFAULT,
            "default": next((one.value for one in each.synonyms if one.source == _DEFAULT), None),
            "type": _TYPES.get(each.config_type, "text"),
            "meaning": _plain(each.documentation or ""),
        }
        for each in sorted(result.configs, key=lambda each: each.name)
    ]


async def change_settings(
    nodes: AsyncNodes, kind: int, name: str, changes: Mapping[str, str | None], *, node: int | None = None
) -> None:
    """None gives a setting its default again. All of them or none."""
    if not changes:
        raise Problem("nothing was changed")
    configs = [
        {"name": each, "config_operation": _DELETE if value is None else _SET, "value": value}
        for each, value in changes.items()
    ]
    body = {
        "resources": [{"resource_type": kind, "resource_name": name, "configs": configs}],
        "validate_only": False,
    }
    asked = (
        nodes.ask_any(INCREMENTAL_ALTER_CONFIGS, body)
        if node is None
        else nodes.ask(node, INCREMENTAL_ALTER_CONFIGS, body)
    )
    answer: IncrementalAlterConfigsResponse = await asked
    for each in answer.responses:
        if each.error_code:
            raise refused(each.error_code, "the settings were not changed", each.error_message)


def _plain(text: str) -> str:
    """Apache Kafka's texts have HTML in them, which pages would show as it is written."""
    return html.unescape(_TAG.sub("", text))
