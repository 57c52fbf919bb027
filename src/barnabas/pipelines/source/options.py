"""The options of a read, by the names and with the meaning of Spark's Kafka connector, checked before anything starts.

What is not known is refused with the name that was probably meant: the connector leaves a misspelt option alone, and
the query quietly reads something else. Differences from the connector, on purpose: `kafka.isolation.level` is
read_committed unless said otherwise; a missing bootstrap is BARNABAS_BOOTSTRAP or this machine, as everywhere here; and
`kafka.group.id` names the group under which a streaming query's progress is seen, never one that is joined.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.client.common.connection import bootstrap_or_default, with_profile
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.options import flag, refuse_misspelt, refuse_not_yours, refuse_unknown
from barnabas.pipelines.registry import options as registry
from barnabas.pipelines.registry.options import RegistryOptions
from barnabas.pipelines.source import bounds
from barnabas.pipelines.source.bounds import EARLIEST, LATEST, Bound, Place
from barnabas.pipelines.source.values.settings import ValueOptions, parse_value_options

APP_VARIABLE = "BARNABAS_SPARK_APP"
CORES_VARIABLE = "BARNABAS_SPARK_CORES"

_KNOWN = (
    "subscribe", "subscribePattern", "assign", "startingOffsets", "startingOffsetsByTimestamp", "startingTimestamp",
    "startingOffsetsByTimestampStrategy", "endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp",
    "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "minPartitions", "maxPartitions",
    "maxRecordsPerPartition", "failOnDataLoss", "includeHeaders", "groupIdPrefix", "valueFormat", "valueSchema",
    "valueMode", "valueMessage", "valueFraming", "valueColumn", "valueTimestamps", *registry.NAMES,
    "kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs",
)  # fmt: skip
_USED = ("bootstrap.servers", "group.id", "isolation.level")
_NOT_YOURS = {
    "auto.offset.reset": "say where to start by startingOffsets",
    "enable.auto.commit": "offsets are committed when Spark commits a batch",
    "key.deserializer": "keys are bytes",
    "value.deserializer": "values are bytes, or what valueFormat makes of them",
    "interceptor.classes": "there is no Java here",
}


@dataclass(frozen=True)
class SourceOptions:
    bootstrap: str
    client: dict[str, str]  # kafka.*, by Java's names, without the prefix
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[Place, ...] = ()
    starting: Bound = field(default_factory=lambda: Bound(word=EARLIEST))
    ending: Bound = field(default_factory=lambda: Bound(word=LATEST))
    start_at_latest_without_match: bool = False
    max_offsets: int | None = None
    min_offsets: int | None = None
    max_trigger_delay_s: float = 900.0
    min_partitions: int | None = None
    max_partitions: int | None = None
    max_records_per_partition: int | None = None
    fail_on_data_loss: bool = True
    include_headers: bool = False
    read_committed: bool = True
    group: str = "spark-barnabas"
    cores: int = 1
    value: ValueOptions | None = None
    as_json: RegistryOptions | None = None  # `value` is the JSON text of what the registry's schema says

    @property
    def wanted(self) -> str:
        """The topics asked for, in words for a message."""
        if self.pattern is not None:
            return f"the topics that match {self.pattern!r}"
        names = self.topics or sorted({topic for topic, _ in self.assigned})
        return f"topic {', '.join(names)}"


def parse_options(given: Mapping[str, str], *, streaming: bool | None) -> SourceOptions:
    """`streaming` None: what is wrong for a batch and for a stream alike. Spark asks for the columns of a read before
    it is known which of the two it becomes."""
    options = {name.lower(): str(value) for name, value in given.items()}
    client = {name[6:]: value for name, value in options.items() if name.startswith("kafka.")}
    refuse_unknown(options, _KNOWN)
    refuse_not_yours(client, _NOT_YOURS)
    refuse_misspelt(client, _USED)
    topics, pattern, assigned = _strategy(options)
    starting = _starting(options, streaming)
    ending = _ending(options, streaming)
    strategy = options.get("startingoffsetsbytimestampstrategy", "error").lower()
    if strategy not in ("error", "latest"):
        raise PipelineError(f"startingOffsetsByTimestampStrategy is error or latest, not {strategy!r}")
    isolation = client.pop("isolation.level", "read_committed").lower()
    if isolation not in ("read_committed", "read_uncommitted"):
        raise PipelineError(f"kafka.isolation.level is read_committed or read_uncommitted, not {isolation!r}")
    value = parse_value_options(options, _only_topic(topics, assigned))
    bootstrap = bootstrap_or_default(client.pop("bootstrap.servers", None))
    client = with_profile(bootstrap, client)
    return SourceOptions(
        bootstrap=bootstrap,
        group=_group(options, client),
        client=client,
        topics=topics,
        pattern=pattern,
        assigned=assigned,
        starting=starting,
        ending=ending,
        start_at_latest_without_match=strategy == "latest",
        max_offsets=_count(options, "maxOffsetsPerTrigger"),
        min_offsets=_count(options, "minOffsetsPerTrigger"),
        max_trigger_delay_s=_delay(options),
        min_partitions=_count(options, "minPartitions"),
        max_partitions=_count(options, "maxPartitions"),
        max_records_per_partition=_count(options, "maxRecordsPerPartition"),
        fail_on_data_loss=flag(options, "failOnDataLoss", True),
        include_headers=include_headers(options),
        read_committed=isolation == "read_committed",
        value=value,
        as_json=registry.parse_registry(options) if value is None else None,
        cores=int(os.environ.get(CORES_VARIABLE) or os.cpu_count() or 1),
    )


def _strategy(options: Mapping[str, str]) -> tuple[tuple[str, ...], str | None, tuple[Place, ...]]:
    given = [name for name in ("subscribe", "subscribePattern", "assign") if name.lower() in options]
    if len(given) != 1:
        found = f"not {' and '.join(given)} together" if given else "none is given"
        hint = "" if given else ". Of a table made by CREATE TABLE they are lost: use CREATE TEMPORARY VIEW"
        raise PipelineError(f"say what to read by one of subscribe, subscribePattern and assign; {found}{hint}")
    text = options[given[0].lower()]
    if given[0] == "assign":
        return (), None, tuple(bounds.parse_assign(text, "assign"))
    if given[0] == "subscribePattern":
        try:
            re.compile(text)
        except re.error as error:
            raise PipelineError(f"subscribePattern {text!r} is not a pattern: {error}") from None
        if not text.strip():
            raise PipelineError("subscribePattern is empty")
        return (), text, ()
    topics = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    if not topics:
        raise PipelineError("subscribe names no topic")
    return topics, None, ()


def _only_topic(topics: tuple[str, ...], assigned: tuple[Place, ...]) -> str | None:
    names = set(topics) | {topic for topic, _ in assigned}
    return names.pop() if len(names) == 1 else None


def _starting(options: Mapping[str, str], streaming: bool | None) -> Bound:
    # The order of the connector: one time for all, then times by partition, then offsets.
    if "startingtimestamp" in options:
        return bounds.parse_timestamp(options["startingtimestamp"], "startingTimestamp")
    if "startingoffsetsbytimestamp" in options:
        return bounds.parse_timestamps(options["startingoffsetsbytimestamp"], "startingOffsetsByTimestamp")
    if "startingoffsets" not in options:
        return Bound(word=LATEST if streaming else EARLIEST)
    bound = bounds.parse_offsets(options["startingoffsets"], "startingOffsets")
    if streaming is False and (bound.word == LATEST or LATEST in bound.offsets.values()):
        raise PipelineError("startingOffsets cannot be latest for a batch: there is nothing after it to read")
    return bound


def _ending(options: Mapping[str, str], streaming: bool | None) -> Bound:
    for name in ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets"):
        if streaming and name.lower() in options:
            raise PipelineError(f"{name} is for a batch; a stream has no end")
    if "endingtimestamp" in options:
        return bounds.parse_timestamp(options["endingtimestamp"], "endingTimestamp")
    if "endingoffsetsbytimestamp" in options:
        return bounds.parse_timestamps(options["endingoffsetsbytimestamp"], "endingOffsetsByTimestamp")
    bound = bounds.parse_offsets(options.get("endingoffsets", "latest"), "endingOffsets")
    if bound.word == EARLIEST or EARLIEST in bound.offsets.values():
        raise PipelineError("endingOffsets cannot be earliest: there is nothing before it to read")
    return bound


def _group(options: Mapping[str, str], client: dict[str, str]) -> str:
    given = client.pop("group.id", None)
    if given is not None:
        if not given:
            raise PipelineError("kafka.group.id is empty")
        return given
    app = os.environ.get(APP_VARIABLE) or "barnabas"
    return f"{options.get('groupidprefix', 'spark')}-{app}"


def _count(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name.lower())
    if text is None:
        return None
    if not text.strip().isdigit() or int(text) == 0:
        raise PipelineError(f"{name} is a whole number above 0, not {text!r}")
    return int(text)


def include_headers(options: Mapping[str, str]) -> bool:
    return flag(options, "includeHeaders", False)


_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def _delay(options: Mapping[str, str]) -> float:
    text = options.get("maxtriggerdelay", "15m").strip().lower()
    match = re.fullmatch(r"(\d+)\s*(ms|s|min|m|h|d)", text)
    if match is None:
        raise PipelineError(f"maxTriggerDelay is a time such as 30s or 15m, not {text!r}")
    return int(match[1]) * _UNITS_S[match[2]]
