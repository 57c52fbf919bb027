"""Links as the commands ask for them: their settings, how far they are, and the topics that belong to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.common.cluster import Cluster, refused
from barnabas.cli.common.failure import Failure
from barnabas.cli.common.options import to_paste
from barnabas.model.settings.link import LOGIN_SETTINGS
from barnabas.operate.cluster_links import Progress
from barnabas.wire.apis import (
    DESCRIBE_CONFIGS,
    DESCRIBE_LINKS,
    INCREMENTAL_ALTER_CONFIGS,
    LIST_CONFIG_RESOURCES,
)

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        DescribeConfigsResponse,
        DescribeLinksResponse,
        IncrementalAlterConfigsResponse,
        ListConfigResourcesResponse,
        MetadataResponseTopic,
    )

TOPIC, LINK = 2, 64  # of requests about settings
_SET, _DELETE = 0, 1
_AT_ONCE = 200

Settings = dict[str, str | None]  # None takes a setting back


def names(cluster: Cluster) -> list[str]:
    answer: ListConfigResourcesResponse = cluster.ask_any(LIST_CONFIG_RESOURCES, {"resource_types": [LINK]})
    if answer.error_code:
        raise refused(answer.error_code, "list the links", cluster.bootstrap)
    return sorted(resource.resource_name for resource in answer.config_resources)


def must_exist(cluster: Cluster, name: str) -> dict[str, str | None]:
    known = names(cluster)
    if name not in known:
        make = to_paste("link create NAME --from HOST:PORT", cluster.bootstrap)
        there = f"There are: {', '.join(known)}" if known else f"Make one: {make}"
        raise Failure(f"there is no link {name!r}", there)
    return configs(cluster, LINK, [name])[name]


def configs(cluster: Cluster, kind: int, resources: list[str]) -> dict[str, dict[str, str | None]]:
    found: dict[str, dict[str, str | None]] = {}
    for at in range(0, len(resources), _AT_ONCE):
        asked = [
            {"resource_type": kind, "resource_name": name, "configuration_keys": None}
            for name in resources[at : at + _AT_ONCE]
        ]
        answer: DescribeConfigsResponse = cluster.ask_any(DESCRIBE_CONFIGS, {"resources": asked})
        for result in answer.results:
            _check(cluster, result.error_code, result.error_message, f"settings of {result.resource_name!r}")
            found[result.resource_name] = {each.name: each.value for each in result.configs}
    return found


def alter(cluster: Cluster, kind: int, changes: dict[str, Settings]) -> None:
    for at in range(0, len(changes), _AT_ONCE):
        resources = [
            {
                "resource_type": kind,
                "resource_name": name,
                "configs": [
                    {"name": key, "config_operation": _DELETE if value is None else _SET, "value": value}
                    for key, value in settings.items()
                ],
            }
            for name, settings in list(changes.items())[at : at + _AT_ONCE]
        ]
        body = {"resources": resources, "validate_only": False}
        answer: IncrementalAlterConfigsResponse = cluster.ask_any(INCREMENTAL_ALTER_CONFIGS, body)
        for done in answer.responses:
            _check(cluster, done.error_code, done.error_message, done.resource_name)


def _check(cluster: Cluster, code: int, message: str | None, doing: str) -> None:
    if code:
        raise Failure(f"{doing}: {message}") if message else refused(code, doing, cluster.bootstrap)


def progress(cluster: Cluster, name: str) -> Progress:
    """As all nodes that answer tell it."""
    found = Progress(name)
    for node_id in sorted(cluster.brokers):
        try:
            answer: DescribeLinksResponse = cluster.ask(node_id, DESCRIBE_LINKS, {"names": [name]})
        except Failure as down:
            found.errors.append(str(down))
            continue
        if answer.error_code:
            raise refused(answer.error_code, f"describe the link {name!r}", cluster.bootstrap)
        for link in answer.links:
            found.add(link)
    return found


def topics_of(cluster: Cluster, name: str) -> dict[str, MetadataResponseTopic]:
    """The topics here that the link fills."""
    there = {t.name: t for t in cluster.metadata(None).topics if t.name and not t.error_code and not t.is_internal}
    stored = configs(cluster, TOPIC, list(there))
    return {topic: there[topic] for topic, settings in stored.items() if settings.get("link.name") == name}


def login_settings(source: str) -> Settings:
    """How the source is logged in at, from the client profile of its address; certificates as text."""
    from barnabas.client.common.connection import addresses
    from barnabas.client.common.profile import profile_for
    from barnabas.client.errors import BadSetting

    try:
        profile = profile_for(addresses(source))
        if path := profile.get("ssl.ca.location"):
            profile["ssl.ca.pem"] = Path(path).read_text()
    except (BadSetting, OSError) as error:
        raise Failure(f"the client profile of {source} cannot be used: {error}") from None
    found = {name: profile[name] for name in LOGIN_SETTINGS if profile.get(name)}
    if "sasl.mechanisms" in profile:
        found.setdefault("sasl.mechanism", profile["sasl.mechanisms"])
    return dict(found)
