"""Writes the Grafana dashboard, deploy/grafana/barnabas.json, from the table below; with --check it only compares.

A panel is its title, its unit and the expressions that it shows. Everything is by the job that the cluster's nodes have
in Prometheus and, where it is about nodes, by the instance; both are chosen at the top of the dashboard.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parent.parent / "deploy" / "grafana" / "barnabas.json"
WIDTH, HEIGHT, STAT_WIDTH, STAT_HEIGHT = 8, 7, 4, 4
COLUMNS = 24
RATE = "$__rate_interval"


class Panel(NamedTuple):
    title: str
    unit: str  # of Grafana
    queries: dict[str, str]  # legend -> expression
    help: str = ""
    bad_above: float | None = None  # a single number, red above it
    bad_below: float | None = None


def rate(name: str, by: str, selector: str = "", of: str = "$job") -> str:
    chosen = f'job=~"{of}",instance=~"$instance"' + (f",{selector}" if selector else "")
    return f"sum by ({by}) (rate({name}{{{chosen}}}[{RATE}]))"


def node(name: str, selector: str = "") -> str:
    return f'{name}{{job=~"$job",instance=~"$instance"{"," + selector if selector else ""}}}'


def p99(name: str, by: str) -> str:
    return f"histogram_quantile(0.99, {rate(f'{name}_bucket', f'{by}, le' if by else 'le')})"


def worst(name: str) -> str:
    """Of clients: the fifteen with the most."""
    return f"topk(15, max by (client_id) (kafka_client_{name}{{{CLIENT}}}))"


TOPIC = "kafka_server_brokertopicmetrics_"
REPLICAS, CONTROLLER = "kafka_server_replicamanager_", "kafka_controller_kafkacontroller_"
ALL, EACH = 'topic=""', 'topic!="",topic=~"$topic"'
GROUP = 'job=~"$job",consumergroup=~"$group"'
CLIENT = 'job=~"$job",client_id=~"$client"'

# fmt: off
ROWS: dict[str, tuple[Panel, ...]] = {
    "Overview": (
        Panel("Nodes ready", "none", {"": f"sum({node('barnabas_ready')})"}, bad_below=1),
        Panel("Active controllers", "none", {"": f"sum({node(CONTROLLER + 'activecontrollercount')})"}, bad_below=1),
        Panel("Partitions without a leader", "none",
              {"": f"max({node(CONTROLLER + 'offlinepartitionscount')})"}, bad_above=0),
        Panel("Below min.insync.replicas", "none",
              {"": f"sum({node(REPLICAS + 'underminisrpartitioncount')})"}, bad_above=0),
        Panel("Under-replicated", "none", {"": f"sum({node(REPLICAS + 'underreplicatedpartitions')})"}, bad_above=0),
        Panel("Things that fail", "none", {"": f"sum({node('barnabas_problems')}) or vector(0)"},
              "barnabas doctor on the node's machine says what and why.", bad_above=0),
        Panel("Records in", "cps", {"{{instance}}": rate(TOPIC + "messagesin_total", "instance", ALL)}),
        Panel("Bytes in", "Bps", {"{{instance}}": rate(TOPIC + "bytesin_total", "instance", ALL)}),
        Panel("Bytes out", "Bps", {"{{instance}}": rate(TOPIC + "bytesout_total", "instance", ALL)}),
        Panel("Requests", "reqps", {"{{instance}}": rate("kafka_network_requestmetrics_requests_total", "instance")}),
        Panel("Connections", "none", {
            "{{instance}} {{listener}}":
                f"sum by (instance, listener) ({node('kafka_server_socket_server_metrics_connection_count')})"}),
        Panel("Partitions led", "none", {"{{instance}}": node(REPLICAS + "leadercount")}),
    ),
    "Topics": (
        Panel("Records in, busiest topics", "cps",
              {"{{topic}}": f"topk(10, {rate(TOPIC + 'messagesin_total', 'topic', EACH)})"}),
        Panel("Bytes in, busiest topics", "Bps",
              {"{{topic}}": f"topk(10, {rate(TOPIC + 'bytesin_total', 'topic', EACH)})"}),
        Panel("Bytes out, busiest topics", "Bps",
              {"{{topic}}": f"topk(10, {rate(TOPIC + 'bytesout_total', 'topic', EACH)})"}),
        Panel("Size on disk, largest topics", "bytes",
              {"{{topic}}": f"topk(10, sum by (topic) ({node('barnabas_topic_log_bytes', EACH)}))"}),
        Panel("Partitions", "none",
              {"{{topic}}": f"topk(10, max by (topic) ({node('kafka_topic_partitions', EACH)}))"}),
        Panel("Partitions in failed requests", "cps", {
            "produce": f"sum({rate(TOPIC + 'failedproducerequests_total', 'job')}) or vector(0)",
            "fetch": f"sum({rate(TOPIC + 'failedfetchrequests_total', 'job')}) or vector(0)"}),
    ),
    "Groups": (
        Panel("Lag in seconds", "s", {
            "{{consumergroup}} {{topic}}":
                f"topk(15, max by (consumergroup, topic) (kafka_consumergroup_lag_seconds{{{GROUP}}}))"},
            "The age of the oldest record that the group has not consumed."),
        Panel("Lag in records", "none", {
            "{{consumergroup}} {{topic}}":
                f"topk(15, max by (consumergroup, topic) (kafka_consumergroup_lag_sum{{{GROUP}}}))"}),
        Panel("Members", "none",
              {"{{consumergroup}}": f"max by (consumergroup) (kafka_consumergroup_members{{{GROUP}}})"}),
        Panel("Consumed", "cps", {
            "{{consumergroup}} {{topic}}":
                f"topk(15, max by (consumergroup, topic) (deriv(kafka_consumergroup_current_offset_sum{{{GROUP}}}"
                f"[{RATE}])))"}),
        Panel("Open transactions", "none", {"{{instance}}": node("barnabas_transactions_open")}),
        Panel("Oldest transaction", "s", {"{{instance}}": node("barnabas_transaction_oldest_seconds")},
              "Consumers with read_committed wait behind it."),
    ),
    "Replication and quorum": (
        Panel("Followers behind, in seconds", "s",
              {"{{follower}} of {{instance}}": node("barnabas_replication_lag_seconds")}),
        Panel("Followers behind, in records", "none",
              {"{{follower}} of {{instance}}": node("barnabas_replication_lag_records")}),
        Panel("Followers behind, in bytes", "bytes",
              {"{{follower}} of {{instance}}": node("barnabas_replication_lag_bytes")}),
        Panel("Replication in", "Bps", {"{{instance}}": rate(TOPIC + "replicationbytesin_total", "instance", ALL)}),
        Panel("In-sync replicas", "cps", {
            "left": f"sum({rate(REPLICAS + 'isrshrinks_total', 'job')})",
            "joined": f"sum({rate(REPLICAS + 'isrexpands_total', 'job')})"}),
        Panel("Fetches from leaders, p99", "s", {"{{instance}}": p99("barnabas_replica_fetch_seconds", "instance")},
              "With their wait for news, half a second unless set otherwise."),
        Panel("Metadata log behind", "none", {
            "replica {{replica}}": node("barnabas_quorum_lag_records"),
            "{{instance}} serves": node("barnabas_metadata_lag_records")}),
        Panel("Elections of leaders", "cps",
              {"": f"sum({rate('barnabas_controller_elections_total', 'job')})"}),
        Panel("Epoch of the quorum", "none", {"{{instance}}": node("kafka_server_raftmetrics_current_epoch")},
              "Each step is another leader of the quorum."),
    ),
    "Requests": (
        Panel("p99 by request", "s", {"{{request}}": f"topk(15, {p99('barnabas_request_seconds', 'request')})"},
              "Fetch includes the wait for records, JoinGroup the wait for the other members."),
        Panel("p99 of the last minute", "ms", {
            "{{request}}":
                "max by (request) (" + node("kafka_network_requestmetrics_totaltimems",
                                            'quantile="0.99",request=~"Produce|Metadata|OffsetCommit"') + ")"}),
        Panel("By kind", "reqps",
              {"{{request}}": f"topk(15, {rate('kafka_network_requestmetrics_requests_total', 'request')})"}),
        Panel("Errors answered", "cps",
              {"{{error}}": f"topk(15, {rate('kafka_network_requestmetrics_errors_total', 'error')})"}),
        Panel("Throttled", "cps", {
            "{{quota}} {{rule}}": f"{rate('barnabas_throttled_total', 'quota, rule')} or vector(0)"}),
        Panel("Failed logins", "cps", {"{{instance}}": rate("barnabas_failed_logins_total", "instance")}),
    ),
    "Nodes": (
        Panel("Loop held longer than 50 ms", "cps", {"{{instance}}": rate("barnabas_loop_stalls_total", "instance")},
              "Every client of the node waits meanwhile."),
        Panel("Worst hold of the loop", "s", {"{{instance}}": node("barnabas_loop_stall_worst_seconds")}),
        Panel("Flushes to disk, p99", "s", {"{{instance}}": p99("barnabas_log_flush_seconds", "instance")}),
        Panel("CPU", "percentunit", {"{{instance}}": rate("process_cpu_seconds_total", "instance")}),
        Panel("Memory", "bytes", {"{{instance}}": node("process_resident_memory_bytes")}),
        Panel("File descriptors used", "percentunit",
              {"{{instance}}": f"{node('process_open_fds')} / {node('process_max_fds')}"}),
        Panel("Disk free", "bytes", {"{{instance}}": node("barnabas_disk_free_bytes")}),
        Panel("Disk used", "percentunit",
              {"{{instance}}": f"1 - {node('barnabas_disk_free_bytes')} / {node('barnabas_disk_total_bytes')}"}),
        Panel("Disk full in", "s", {
            "{{instance}}":
                f"{node('barnabas_disk_full_in_seconds')} or {node('barnabas_disk_free_bytes')} * 0 + 31536000"},
            "By the growth of the last hour; a year where it does not grow."),
    ),
    "Clients' own view (docs/telemetry.md)": (
        Panel("Clients that push", "none", {
            "{{software_name}} {{software_version}}":
                f"count by (software_name, software_version) (barnabas_telemetry_client_info{{{CLIENT}}})"}),
        Panel("Producers: wait in the buffer", "ms", {"{{client_id}}": worst("producer_record_queue_time_avg")}),
        Panel("Producers: request latency", "ms", {"{{client_id}}": worst("producer_node_request_latency_avg")}),
        Panel("Consumers: fetch latency", "ms", {"{{client_id}}": worst("consumer_fetch_manager_fetch_latency_avg")}),
        Panel("Consumers: waiting in poll", "percentunit",
              {"{{client_id}}": f"min by (client_id) (kafka_client_consumer_poll_idle_ratio_avg{{{CLIENT}}})"},
              "1: it waits for records. Near 0: the application is what is slow."),
        Panel("Connections opened", "cps", {
            "{{client_id}}":
                "sum by (client_id) (rate({__name__=~\"kafka_client_(producer|consumer)_connection_creation_total\","
                + CLIENT + "}[" + RATE + "]))"},
            "A client that reconnects again and again."),
    ),
}
# fmt: on

VARIABLES = {
    "job": "label_values(barnabas_build_info, job)",
    "instance": 'label_values(barnabas_build_info{job=~"$job"}, instance)',
    "topic": 'label_values(kafka_topic_partitions{job=~"$job"}, topic)',
    "group": 'label_values(kafka_consumergroup_members{job=~"$job"}, consumergroup)',
    "client": 'label_values(barnabas_telemetry_client_info{job=~"$job"}, client_id)',
}


def dashboard() -> dict[str, object]:
    panels: list[dict[str, object]] = []
    y = 0
    for title, row in ROWS.items():
        panels.append({"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": _place(0, y, 24, 1)})
        y += 1
        for wide in (False, True):
            x, height = 0, HEIGHT if wide else STAT_HEIGHT
            for panel in (each for each in row if _is_chart(each) is wide):
                width = WIDTH if wide else STAT_WIDTH
                if x + width > COLUMNS:
                    x, y = 0, y + height
                panels.append(_panel(panel, _place(x, y, width, height)))
                x += width
            y += height if x else 0
    for number, each in enumerate(panels, 1):
        each["id"] = number
    return {
        "title": "Barnabas",
        "uid": "barnabas",
        "tags": ["barnabas", "kafka"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_datasource(), *(_variable(name, query) for name, query in VARIABLES.items())]},
        "panels": panels,
    }


def _is_chart(panel: Panel) -> bool:
    return panel.bad_above is None and panel.bad_below is None


def _place(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def _panel(panel: Panel, place: dict[str, int]) -> dict[str, object]:
    defaults: dict[str, object] = {"unit": panel.unit, "min": 0}
    if not _is_chart(panel):
        green, red = {"color": "green"}, {"color": "red"}
        above = [{**green, "value": None}, {**red, "value": 0.5 + (panel.bad_above or 0)}]
        below = [{**red, "value": None}, {**green, "value": panel.bad_below}]
        defaults["thresholds"] = {"mode": "absolute", "steps": below if panel.bad_above is None else above}
    return {
        "type": "timeseries" if _is_chart(panel) else "stat",
        "title": panel.title,
        "description": panel.help,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "gridPos": place,
        "targets": [
            {"refId": chr(ord("A") + number), "expr": expression, "legendFormat": legend or "all"}
            for number, (legend, expression) in enumerate(panel.queries.items())
        ],
    }


def _datasource() -> dict[str, object]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _variable(name: str, query: str) -> dict[str, object]:
    return {
        "name": name,
        "label": name,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": query,
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def main() -> int:
    text = json.dumps(dashboard(), indent=1, ensure_ascii=False) + "\n"
    if "--check" in sys.argv:
        if PAGE.read_text() != text:
            print(f"{PAGE.name} is not what the table says: run tools/grafana_dashboard.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
