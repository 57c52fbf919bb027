"""A real Prometheus (Debian's) beside real nodes: what it scrapes, what an expression gives, which alerts fire."""

from __future__ import annotations

import json
import re
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.support.process import ServerProcess, free_port

EVERY = "500ms"
WINDOW = "10s"


class Prometheus(ServerProcess):
    """`targets` are the addresses of each job; `rules` a file of alerts."""

    def __init__(self, folder: Path, targets: Mapping[str, Sequence[str]], rules: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        config = {
            "global": {"scrape_interval": EVERY, "evaluation_interval": EVERY},
            "rule_files": [] if rules is None else [str(rules)],
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": list(addresses)}]}
                for job, addresses in targets.items()
            ],
        }
        file = folder / "prometheus.yml"
        file.write_text(yaml.safe_dump(config))
        port = free_port()
        command = ["prometheus", f"--config.file={file}", f"--storage.tsdb.path={folder / 'data'}", "--log.level=warn"]
        super().__init__([*command, f"--web.listen-address=127.0.0.1:{port}"], port, folder / "prometheus.log")

    def ask(self, path: str, **arguments: str) -> Any:
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        return list(self.ask("query", query=expression)["result"])

    def firing(self) -> dict[str, list[dict[str, str]]]:
        """The labels of each alert that fires, by its name."""
        found: dict[str, list[dict[str, str]]] = {}
        for alert in self.ask("alerts")["alerts"]:
            if alert["state"] == "firing":
                found.setdefault(alert["labels"]["alertname"], []).append(alert["labels"])
        return found


def shortened(source: Path, target: Path, thresholds: Mapping[str, tuple[str, str]] | None = None) -> Path:
    """The rules as they are, but an alert does not wait, and looks back for seconds. `thresholds`: what a test cannot
    wait for (a quarter of an hour), as text of the expression and what stands there instead."""
    rules = yaml.safe_load(source.read_text())
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        rule.pop("for", None)
        expression = re.sub(r"\[5m\]", f"[{WINDOW}]", rule["expr"])
        before, after = (thresholds or {}).get(rule["alert"], ("", ""))
        assert before in expression, f"{rule['alert']} has no {before!r}"
        rule["expr"] = expression.replace(before, after) if before else expression
    target.write_text(yaml.safe_dump(rules))
    return target
