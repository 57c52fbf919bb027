"""`barnabas telemetry`: subscriptions of the metrics that clients measure themselves (KIP-714)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, pairs
from barnabas.cli.common.screen import Column, emit_json, outcome, say, table

if TYPE_CHECKING:
    from barnabas.cli.common.cluster import Cluster
    from barnabas.wire.messages import (
        DescribeConfigsResponse,
        IncrementalAlterConfigsResponse,
        ListConfigResourcesResponse,
    )

app = typer.Typer(help="Which of their own metrics clients push to the nodes.", no_args_is_help=True)

_CLIENT_METRICS = 16  # ConfigResource.Type
_SET, _DELETE = 0, 1
_SETTINGS = ("metrics", "interval.ms", "match")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The subscription's name.")]


@app.command("subscribe")
def subscribe(
    name: Name,
    metrics: Annotated[
        list[str] | None, typer.Argument(metavar="[METRIC]...", help="Prefixes of their names; without any, all.")
    ] = None,
    every: Annotated[str, typer.Option("--every", metavar="TIME", help="How often, such as 30s.")] = "1m",
    match: Annotated[
        list[str] | None,
        typer.Option("--match", metavar="KEY=PATTERN", help="Only clients whose client_id, ... fits; may be repeated."),
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Have clients push metrics: make or replace a subscription.

    Java clients (3.7 and later) and librdkafka (2.5 and later) push. A client learns of it within five minutes.

    \b
    Example:
      barnabas telemetry subscribe everything --every 30s
      barnabas telemetry subscribe checkout org.apache.kafka.producer. --match 'client_id=checkout-.*'
    """
    from barnabas.cli.common.moments import duration_ms

    try:
        interval_ms = duration_ms(every)
    except ValueError as error:
        raise usage(f"--every: {error}", "Write it as --every 30s.") from None
    selectors = pairs(match, "--match", "client_id=checkout-.*")
    values = {
        "metrics": ",".join(metrics or ["*"]),
        "interval.ms": str(interval_ms),
        "match": ",".join(f"{key}={pattern}" for key, pattern in selectors.items()) or None,
    }
    with _cluster(bootstrap) as cluster:
        _alter(cluster, name, values)
    told = {key: value for key, value in values.items() if value is not None}
    outcome(as_json, {"name": name, **told}, f"{name}: " + ", ".join(f"{key}={value}" for key, value in told.items()))


@app.command("list")
def list_subscriptions(as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """List the subscriptions.

    What clients pushed is in /metrics of the node that they push to, as kafka_client_...

    \b
    Example:
      barnabas telemetry list
    """
    with _cluster(bootstrap) as cluster:
        found = {name: _described(cluster, name) for name in _names(cluster)}
    if as_json:
        emit_json([{"name": name, **values} for name, values in found.items()])
    elif not found:
        say("no subscriptions. Make one: barnabas telemetry subscribe everything")
    else:
        columns = (Column("name", flexible=True, style="bold"), *(Column(key, flexible=True) for key in _SETTINGS))
        table(columns, ([name, *(values.get(key) or "" for key in _SETTINGS)] for name, values in found.items()))


@app.command("remove")
def remove(name: Name, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Remove a subscription; clients stop pushing what it asked for.

    \b
    Example:
      barnabas telemetry remove everything
    """
    with _cluster(bootstrap) as cluster:
        if name not in _names(cluster):
            raise Failure(f"there is no subscription {name!r}", "See which there are: barnabas telemetry list")
        _alter(cluster, name, dict.fromkeys(_SETTINGS))
    outcome(as_json, {"removed": name}, f"{name}: removed")


def _cluster(bootstrap: str) -> Cluster:
    from barnabas.cli.common.cluster import Cluster

    return Cluster(bootstrap)


def _names(cluster: Cluster) -> list[str]:
    from barnabas.cli.common.cluster import refused
    from barnabas.wire.apis import LIST_CONFIG_RESOURCES

    answer: ListConfigResourcesResponse = cluster.ask_any(LIST_CONFIG_RESOURCES, {"resource_types": [_CLIENT_METRICS]})
    if answer.error_code:
        raise refused(answer.error_code, "list the subscriptions")
    return sorted(resource.resource_name for resource in answer.config_resources)


def _described(cluster: Cluster, name: str) -> dict[str, str | None]:
    from barnabas.wire.apis import DESCRIBE_CONFIGS

    wanted = {"resource_type": _CLIENT_METRICS, "resource_name": name, "configuration_keys": None}
    body = {"resources": [wanted], "include_synonyms": False}
    answer: DescribeConfigsResponse = cluster.ask_any(DESCRIBE_CONFIGS, body)
    (found,) = answer.results
    _check(found.error_code, found.error_message, f"describe {name}")
    return {each.name: each.value for each in found.configs}


def _alter(cluster: Cluster, name: str, values: dict[str, str | None]) -> None:
    """None takes a setting back."""
    from barnabas.wire.apis import INCREMENTAL_ALTER_CONFIGS

    configs = [
        {"name": key, "config_operation": _DELETE if value is None else _SET, "value": value}
        for key, value in values.items()
    ]
    resource = {"resource_type": _CLIENT_METRICS, "resource_name": name, "configs": configs}
    body = {"resources": [resource], "validate_only": False}
    answer: IncrementalAlterConfigsResponse = cluster.ask_any(INCREMENTAL_ALTER_CONFIGS, body)
    (done,) = answer.responses
    _check(done.error_code, done.error_message, f"subscription {name}")


def _check(code: int, message: str | None, doing: str) -> None:
    from barnabas.cli.common.cluster import refused

    if code:
        raise refused(code, doing, told=message)
