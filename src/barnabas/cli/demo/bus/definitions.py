"""The definitions of the story's connectors, as files that people can read, change and run again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from barnabas.cli.demo.bus.company import ENRICHED, LOGS, ORDERS, SENSORS, Company
from barnabas.cli.demo.bus.servers.s3proxy import BUCKET, KEY

_FUNCTIONS = Path(__file__).parent / "functions"
PIPELINE = "enrich_on_spark.py"


def write_definitions(company: Company, bootstrap: str, folder: Path, on_spark: bool) -> list[Path]:
    """Those whose servers are there."""
    folder.mkdir(parents=True, exist_ok=True)
    texts: dict[str, str] = {"logs": _logs(company)}
    if company.postgres is not None:
        texts["orders"] = _orders(company)
        function = PIPELINE if on_spark else "enrich.py"
        shutil.copy(_FUNCTIONS / function, folder / function)
        if not on_spark:
            texts["enrich"] = _function("enrich", ORDERS, function, bootstrap)
        if company.warehouse is not None:
            texts["orders-warehouse"] = _orders_warehouse(company.warehouse)
        if company.s3 is not None:
            texts["orders-lake"] = _orders_lake(company)
        if company.opensearch is not None:
            texts["orders-search"] = _orders_search(company)
    if company.mosquitto is not None:
        texts["sensors"] = _sensors(company)
        shutil.copy(_FUNCTIONS / "anomalies.py", folder / "anomalies.py")
        texts["sensors-alerts"] = _function("sensors-alerts", SENSORS, "anomalies.py", bootstrap)
    if company.opensearch is not None:
        texts["logs-search"] = _logs_search(company)
    files = []
    for name, text in texts.items():
        files.append(folder / f"{name}.yaml")
        files[-1].write_text(text)
    return files


def _orders(company: Company) -> str:
    assert company.postgres is not None
    return f"""\
# PostgreSQL -> topics orders and customers: the rows that are there, then every change.
name: orders
from:
  postgres:
    url: {_text(company.postgres.url)}
    password: {_text(_file(company.postgres.password_file))}
    tables: [public.customers, public.orders]
    topic: "{{table}}"
to: {{topic: {ORDERS}}}
"""


def _function(name: str, topic: str, file: str, bootstrap: str) -> str:
    return f"""\
# A function of one's own, in {file}: it reads this topic and writes another.
name: {name}
from: {{topics: [{topic}]}}
to:
  python: {{file: {file}, function: write, bootstrap: {_text(bootstrap)}}}
"""


def _orders_search(company: Company) -> str:
    assert company.opensearch is not None
    return f"""\
# Topic {ENRICHED} -> OpenSearch: a document for each order.
name: orders-search
from: {{topics: [{ENRICHED}]}}
to:
  opensearch: {{url: {_text(company.opensearch.url)}, index: {company.opensearch.orders}, id: key}}
"""


def _orders_lake(company: Company) -> str:
    assert company.s3 is not None
    return f"""\
# Topic {ENRICHED} -> S3: every change as a row of Parquet; metadata has its offset, and says what was deleted.
name: orders-lake
from: {{topics: [{ENRICHED}]}}
to:
  s3:
    endpoint: {_text(company.s3.address)}
    region: us-east-1
    bucket: {BUCKET}
    access_key_id: {KEY}
    secret_access_key: {_text(_file(company.s3.secret_file))}
    format: parquet
    object_seconds: 5        # small objects, so that there is something to see
    metadata: true
"""


def _orders_warehouse(path: Path) -> str:
    return f"""\
# Topic {ENRICHED} -> DuckDB: a row for each order. release lets other programs open the file between two batches.
name: orders-warehouse
from: {{topics: [{ENRICHED}]}}
to:
  duckdb: {{path: {_text(str(path))}, table: orders, release: true}}
"""


def _sensors(company: Company) -> str:
    assert company.mosquitto is not None
    return f"""\
# MQTT -> topic {SENSORS}
name: sensors
from:
  mqtt: {{url: {_text(company.mosquitto.address)}, topics: ["plant/+/temperature"]}}
to: {{topic: {SENSORS}}}
"""


def _logs(company: Company) -> str:
    return f"""\
# Lines of a service's log, over rotation -> topic {LOGS}
name: logs
from:
  logs: {{paths: [{_text(str(company.access_log))}], pattern: nginx}}
to: {{topic: {LOGS}}}
"""


def _logs_search(company: Company) -> str:
    assert company.opensearch is not None
    return f"""\
# Topic {LOGS} -> OpenSearch: a document for each line.
name: logs-search
from: {{topics: [{LOGS}]}}
to:
  opensearch: {{url: {_text(company.opensearch.url)}, index: {company.opensearch.logs}, id: offset}}
"""


def _file(path: Path) -> str:
    return f"${{file:{path}}}"


def _text(text: str) -> str:
    return json.dumps(text)  # a string of JSON is one of YAML
