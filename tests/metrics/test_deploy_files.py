"""The files of deploy/, without running what they deploy: each is what its own tool or format accepts, names settings,
commands and ports that exist, and fits the others."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from barnabas.cli.app import app
from barnabas.model.settings import NODE_SETTINGS
from tests.support.paths import ROOT

DEPLOY = ROOT / "deploy"
ALERTS = DEPLOY / "prometheus" / "alerts.yml"
UNIT = DEPLOY / "systemd" / "barnabas.service"
PORTS = {9092, 9404}


def run(*command: str, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


# --- Prometheus and Grafana -------------------------------------------------------------------------------------------


def test_promtool_accepts_rules_and_config() -> None:
    assert f"{len(rules())} rules found" in run("promtool", "check", "rules", str(ALERTS))
    run("promtool", "check", "config", "prometheus.yml", cwd=ALERTS.parent)


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_an_alert_says_what_to_do(rule: dict[str, Any]) -> None:
    """In a sentence at least, with commands that exist."""
    action = rule["annotations"]["action"]
    assert action.endswith(".") and len(action) > 40 and rule["annotations"]["summary"]
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    for words in re.findall(r"barnabas ((?:[a-z][a-z-]* ?)+)", action):
        assert command_exists(words.split()), words


def command_exists(words: list[str]) -> bool:
    command: Any = get_command(app)
    for word in words:
        commands = getattr(command, "commands", None)
        if commands is None:
            return True
        if word not in commands:
            return False
        command = commands[word]
    return True


def test_the_dashboard_is_what_the_table_says() -> None:
    run(sys.executable, "tools/grafana_dashboard.py", "--check")
    panels = json.loads((DEPLOY / "grafana" / "barnabas.json").read_text())["panels"]
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(panels) > 50, "no panel covers another"
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels)
    rows = {panel["title"] for panel in panels if panel["type"] == "row"}
    assert len(rows) == 7


# --- systemd ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    """With a program that is there: that of the unit is not."""
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/barnabas/bin/barnabas", "/bin/true"))
    assert "barnabas.service" not in run("systemd-analyze", "verify", str(unit))
    exposure = re.search(r"Overall exposure level for .*: ([0-9.]+)", run_security(unit))
    assert exposure is not None and float(exposure[1]) <= 2.0


def run_security(unit: Path) -> str:
    return run("systemd-analyze", "security", "--offline=true", "--no-pager", str(unit))


def test_the_unit_starts_what_operations_say() -> None:
    (start,) = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(), re.M)
    assert start in (ROOT / "docs" / "operations.md").read_text()


# --- containers -------------------------------------------------------------------------------------------------------


def dockerfile() -> list[tuple[str, str]]:
    """Instructions and their arguments, lines that go on joined."""
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines if line and not line.startswith("#")]


def test_the_image() -> None:
    steps = dockerfile()
    names = [name for name, _ in steps]
    assert names[0] == "FROM" and names.count("FROM") == 2, "what builds it is not in it"
    last = steps[max(n for n, name in enumerate(names) if name == "FROM") :]
    asked = dict(last)
    user, _, group = asked["USER"].partition(":")
    assert int(user) > 0 and int(group) > 0, "not root"
    assert "/health/live" in asked["HEALTHCHECK"] and json.loads(asked["ENTRYPOINT"]) == ["barnabas", "up"]
    assert {int(port) for port in asked["EXPOSE"].split()} == PORTS
    assert asked["STOPSIGNAL"] == "SIGTERM"
    code = json.loads(asked["HEALTHCHECK"].split("CMD ", 1)[1])[2]
    compile(code, "healthcheck", "exec")
    for name in re.findall(r"BARNABAS_(\w+)=", asked["ENV"]):
        setting = name.lower().replace("_", ".")
        assert setting in NODE_SETTINGS or name in ("LOG_FORMAT", "LOG_LEVEL"), setting


def test_the_image_copies_what_is_there_and_sent() -> None:
    ignored = (DEPLOY / "docker" / "Dockerfile.dockerignore").read_text().split()
    for name, arguments in dockerfile():
        sources = arguments.split()[:-1]
        if name == "COPY" and "--from=build" not in sources:
            assert all((ROOT / source).exists() and f"!{source}" in ignored for source in sources), sources


def manifests() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for document in yaml.safe_load_all((DEPLOY / "kubernetes" / "barnabas.yaml").read_text()):
        found.setdefault(document["kind"], []).append(document)
    return found


def test_kubernetes_manifests_fit_each_other() -> None:
    kinds = manifests()
    (stateful,) = kinds["StatefulSet"]
    spec, pod = stateful["spec"], stateful["spec"]["template"]
    labels = pod["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert set(ports.values()) == PORTS
    headless, bootstrap = kinds["Service"]
    assert headless["spec"]["clusterIP"] == "None" and headless["spec"]["publishNotReadyAddresses"] is True
    assert spec["serviceName"] == headless["metadata"]["name"] and "clusterIP" not in bootstrap["spec"]
    (budget,) = kinds["PodDisruptionBudget"]
    assert budget["spec"]["maxUnavailable"] == 1 and spec["replicas"] == 3
    selectors = [service["spec"]["selector"] for service in kinds["Service"]]
    selectors += [budget["spec"]["selector"]["matchLabels"], spec["selector"]["matchLabels"]]
    assert all(selector.items() <= labels for selector in selectors)
    for service in kinds["Service"]:
        assert all(ports[port["targetPort"]] == port["port"] for port in service["spec"]["ports"])
    probes = {name: container[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert probes["livenessProbe"] == {"path": "/health/live", "port": "metrics"} == probes["startupProbe"]
    assert probes["readinessProbe"] == {"path": "/health/ready", "port": "metrics"}
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
    volumes |= {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]}
    assert mounted == volumes
    assert pod["spec"]["securityContext"]["runAsUser"] == int(dict(dockerfile())["USER"].partition(":")[0])
    assert container["securityContext"]["readOnlyRootFilesystem"] and pod["spec"]["securityContext"]["runAsNonRoot"]
    assert container["resources"]["requests"] and container["resources"]["limits"]


def test_kubernetes_settings_are_ours() -> None:
    import tomllib

    kinds = manifests()
    (config,) = kinds["ConfigMap"]
    (text,) = config["data"].values()
    told = flat(tomllib.loads(text))
    assert told.keys() <= NODE_SETTINGS.keys()
    (stateful,) = kinds["StatefulSet"]
    name, service = stateful["metadata"]["name"], stateful["spec"]["serviceName"]
    voters = told["controller.quorum.voters"].split(",")
    assert voters == [f"{n + 1}@{name}-{n}.{service}:9092" for n in range(stateful["spec"]["replicas"])]


def flat(values: dict[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return found


def test_the_shell_of_the_pod_gives_each_node_its_number() -> None:
    (stateful,) = manifests()["StatefulSet"]
    (container,) = stateful["spec"]["template"]["spec"]["containers"]
    (line,) = container["args"]
    shown = subprocess.run(
        [*container["command"], line.replace("exec barnabas", "echo barnabas")],
        env={"POD_NAME": "barnabas-2", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    ).stdout
    assert "--set node.id=3 " in shown and shown.rstrip().endswith("--advertise barnabas-2.barnabas:9092")
