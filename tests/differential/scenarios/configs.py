"""Settings: describe, alter, alter by increments; of topics, brokers, groups, and of things that have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.differential.engine import Pair, Side
from tests.differential.registry import scenario
from tests.support.wire import ALTER_CONFIGS, DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS, LIST_CONFIG_RESOURCES

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


@scenario(DESCRIBE_CONFIGS)
def describe_configs(pair: Pair, v: int) -> None:
    name = pair.topic(pair.fresh("described"), 1, retention_ms="60000", cleanup_policy="compact,delete")

    def ask(
        question: str, kind: int, resource: str | Callable[[Side], str], keys: list[str] | None = None, **more: Any
    ) -> None:
        def body(side: Side) -> dict[str, Any]:
            named = resource(side) if callable(resource) else resource
            return {
                "resources": [{"resource_type": kind, "resource_name": named, "configuration_keys": keys}],
                "include_synonyms": True,
                "include_documentation": v >= 3,
                **more,
            }

        pair.call(DESCRIBE_CONFIGS, v, body, question)

    ask("a topic, all", TOPIC, name)
    ask("a topic, without synonyms and documentation", TOPIC, name, include_synonyms=False, include_documentation=False)
    ask("a topic, two names", TOPIC, name, ["retention.ms", "segment.bytes"])
    ask("a topic, a name that is none", TOPIC, name, ["no.such.setting"])
    ask("a topic, no names", TOPIC, name, [])
    ask("an unknown topic", TOPIC, pair.fresh("never"))
    ask("a bad topic name", TOPIC, "bad name")
    ask("an empty topic name", TOPIC, "")
    ask(
        "the broker, some names",
        BROKER,
        lambda s: str(s.node_id),
        [
            "log.retention.ms",
            "log.segment.bytes",
            "num.partitions",
            "message.max.bytes",
            "log.cleanup.policy",
            "group.initial.rebalance.delay.ms",
            "offsets.retention.minutes",
            "auto.create.topics.enable",
        ],
    )
    ask("an unknown broker", BROKER, "77")
    ask("a broker that is no number", BROKER, "one")
    ask("the cluster's defaults", BROKER, "")
    ask("a group", GROUP, pair.fresh("group"))
    ask("an empty group name", GROUP, "")
    ask("a kind that is none", 99, "x")
    ask("the unknown kind", 0, "x")
    many = [
        {"resource_type": TOPIC, "resource_name": n, "configuration_keys": ["retention.ms"]}
        for n in (name, pair.fresh("never"), name)
    ]
    pair.call(
        DESCRIBE_CONFIGS, v, {"resources": many, "include_synonyms": False}, "three resources, one twice, one unknown"
    )
    pair.call(DESCRIBE_CONFIGS, v, {"resources": [], "include_synonyms": False}, "nothing")


def see(pair: Pair, name: str, *keys: str) -> None:
    """What the change has left behind."""
    body = {
        "resources": [{"resource_type": TOPIC, "resource_name": name, "configuration_keys": list(keys)}],
        "include_synonyms": True,
    }
    pair.call(DESCRIBE_CONFIGS, 4, body, f"afterwards: {', '.join(keys)}")


@scenario(ALTER_CONFIGS)
def alter_configs(pair: Pair, v: int) -> None:
    name = pair.topic(pair.fresh("altered"), 1, retention_ms="60000", flush_ms="500")

    def ask(
        question: str, configs: dict[str, str | None], resource: str = name, kind: int = TOPIC, **more: Any
    ) -> None:
        entries = [{"name": key, "value": value} for key, value in configs.items()]
        body = {
            "resources": [{"resource_type": kind, "resource_name": resource, "configs": entries}],
            "validate_only": False,
            **more,
        }
        pair.call(ALTER_CONFIGS, v, body, question)

    ask("only validated", {"retention.ms": "70000"}, validate_only=True)
    see(pair, name, "retention.ms", "flush.ms")
    ask("one setting; the others go back to their defaults", {"retention.ms": "80000"})
    see(pair, name, "retention.ms", "flush.ms")
    ask("unknown setting", {"no.such.setting": "1"})
    ask("bad number", {"retention.ms": "soon"})
    ask("below the smallest", {"segment.bytes": "2"})
    ask("null", {"retention.ms": None})
    ask("unknown topic", {"retention.ms": "1"}, pair.fresh("never"))
    ask("bad topic name", {"retention.ms": "1"}, "bad name")
    ask("a kind that is none", {"retention.ms": "1"}, kind=99)
    ask("an unknown broker", {"log.retention.ms": "1"}, "77", BROKER)
    ask("a broker that is no number", {"log.retention.ms": "1"}, "one", BROKER)
    twice = {"resource_type": TOPIC, "resource_name": name, "configs": [{"name": "retention.ms", "value": "90000"}]}
    if v == 2:  # Kafka does not answer this one, which takes its time to find out
        pair.call(ALTER_CONFIGS, v, {"resources": [twice, twice], "validate_only": False}, "the same resource twice")
    ask("nothing: all go back", {})
    see(pair, name, "retention.ms")


@scenario(INCREMENTAL_ALTER_CONFIGS)
def incremental_alter_configs(pair: Pair, v: int) -> None:
    name = pair.topic(pair.fresh("altered"), 1, retention_ms="60000")

    def ask(
        question: str, *changes: tuple[str, int, str | None], resource: str = name, kind: int = TOPIC, **more: Any
    ) -> None:
        entries = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in changes]
        body = {
            "resources": [{"resource_type": kind, "resource_name": resource, "configs": entries}],
            "validate_only": False,
            **more,
        }
        pair.call(INCREMENTAL_ALTER_CONFIGS, v, body, question)

    ask("set", ("flush.ms", SET, "700"), ("retention.ms", SET, "70000"))
    see(pair, name, "retention.ms", "flush.ms")
    ask("only validated", ("flush.ms", SET, "800"), validate_only=True)
    see(pair, name, "flush.ms")
    ask("delete", ("flush.ms", DELETE, None))
    see(pair, name, "flush.ms", "retention.ms")
    ask("delete what is not set", ("flush.messages", DELETE, None))
    ask("append to a list", ("cleanup.policy", APPEND, "compact"))
    see(pair, name, "cleanup.policy")
    ask("append what is there already", ("cleanup.policy", APPEND, "compact"))
    see(pair, name, "cleanup.policy")
    ask("subtract from a list", ("cleanup.policy", SUBTRACT, "delete"))
    see(pair, name, "cleanup.policy")
    ask("subtract what is not there", ("cleanup.policy", SUBTRACT, "delete"))
    ask("append to a number", ("retention.ms", APPEND, "1"))
    ask("subtract from a number", ("retention.ms", SUBTRACT, "1"))
    ask("append a bad choice", ("cleanup.policy", APPEND, "burn"))
    ask("set to null", ("retention.ms", SET, None))
    ask("append null", ("cleanup.policy", APPEND, None))
    ask("bad number", ("retention.ms", SET, "soon"))
    ask("below the smallest", ("segment.bytes", SET, "2"))
    ask("min above max lag", ("min.compaction.lag.ms", SET, "10"), ("max.compaction.lag.ms", SET, "5"))
    ask("unknown setting", ("no.such.setting", SET, "1"))
    ask("unknown operation", ("retention.ms", 9, "1"))
    ask("the same setting twice", ("retention.ms", SET, "1"), ("retention.ms", SET, "2"))
    ask("unknown topic", ("retention.ms", SET, "1"), resource=pair.fresh("never"))
    ask("bad topic name", ("retention.ms", SET, "1"), resource="bad name")
    ask("a kind that is none", ("retention.ms", SET, "1"), kind=99)
    ask("an unknown broker", ("log.retention.ms", SET, "1"), resource="77", kind=BROKER)
    ask("a setting only the file may set", ("node.id", SET, "9"), resource="", kind=BROKER)
    ask("cluster default, bad number", ("log.retention.ms", SET, "soon"), resource="", kind=BROKER)
    ask("cluster default", ("log.retention.ms", SET, "604800001"), resource="", kind=BROKER)
    see(pair, pair.topic(pair.fresh("follower")), "retention.ms")
    ask("cluster default taken back", ("log.retention.ms", DELETE, None), resource="", kind=BROKER)
    group = pair.fresh("group")
    ask("a group's setting", ("consumer.session.timeout.ms", SET, "50000"), resource=group, kind=GROUP)
    ask("a group's setting out of range", ("consumer.session.timeout.ms", SET, "5"), resource=group, kind=GROUP)
    ask("a group's unknown setting", ("no.such.setting", SET, "5"), resource=group, kind=GROUP)
    ask("a group without a name", ("consumer.session.timeout.ms", SET, "50000"), resource="", kind=GROUP)
    body = {
        "resources": [{"resource_type": GROUP, "resource_name": group, "configuration_keys": None}],
        "include_synonyms": True,
    }
    pair.call(DESCRIBE_CONFIGS, 4, body, "the group's settings afterwards")
    ask("a group's setting taken back", ("consumer.session.timeout.ms", DELETE, None), resource=group, kind=GROUP)


@scenario(LIST_CONFIG_RESOURCES)
def list_config_resources(pair: Pair, v: int) -> None:
    pair.topic(pair.fresh("listed"))
    pair.call(LIST_CONFIG_RESOURCES, v, {}, "all")
    if v >= 1:
        for kinds in ([TOPIC], [BROKER], [GROUP], [CLIENT_METRICS], [TOPIC, BROKER], [99], [0], [LOGGER]):
            pair.call(LIST_CONFIG_RESOURCES, v, {"resource_types": kinds}, f"kinds {kinds}")
