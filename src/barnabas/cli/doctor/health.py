"""What the nodes on this machine say of themselves: `status.json` in the data folder (broker/metrics/health.py)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from barnabas.cli.common import human
from barnabas.cli.doctor.command import Check
from barnabas.model.json_values import Json, JsonObject
from barnabas.model.limits import CLI_SMALL_FILE_MAX_BYTES

_FOLDERS_MAX = 100  # nodes of one `up --nodes`


def running_nodes(folder: Path) -> Iterator[JsonObject]:
    """What each node says that runs with its data in the folder, or in a folder of it."""
    found = [path for path in [folder / "status.json", *sorted(folder.glob("*/status.json"))] if path.is_file()]
    for path in found[:_FOLDERS_MAX]:
        status = _read(path)
        if status is not None and _is_running(status.get("pid")):
            yield status


def checks(folder: Path) -> Iterator[Check]:
    said = False
    for status in running_nodes(folder):
        said = True
        yield from _problems(status)
        yield from _loop(status)
    if not said:
        yield Check("ok", "problems", f"no node runs with its data in {folder}")


def _read(path: Path) -> JsonObject | None:
    """None when it is not what a node writes: another version, or half of a copy."""
    try:
        if path.stat().st_size > CLI_SMALL_FILE_MAX_BYTES:
            return None
        status = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return status if isinstance(status, dict) and status.get("version") == 1 else None


def _is_running(pid: Json) -> bool:
    """A node that was killed leaves its file behind."""
    try:
        os.kill(int(pid), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, TypeError, OverflowError):
        return False
    return True


def _problems(status: JsonObject) -> Iterator[Check]:
    node, problems = status.get("node_id"), status.get("problems") or []
    for problem in problems:
        times = "" if problem["times"] == 1 else f" ({human.plural(problem['times'], 'time')})"
        told = f"node {node}, {problem['subject']}: {problem['reason']}{times}"
        yield Check("warn", problem["what"], told, problem["way_out"] or "Look at the node's log.")
    if status.get("problems_omitted"):
        yield Check("warn", "problems", f"node {node}: {status['problems_omitted']} more", "Look at the node's log.")
    if not problems:
        yield Check("ok", "problems", f"none on node {node}")


def _loop(status: JsonObject) -> Iterator[Check]:
    """Every client waits while one callback runs (broker/metrics/loop_watchdog.py)."""
    loop = status.get("loop")
    if not isinstance(loop, dict):
        return
    if not loop["holds"]:
        yield Check("ok", "loop", f"node {status.get('node_id')}: never held for more than {loop['budget_ms']} ms")
        return
    served = f", serving {loop['worst_request']}" if loop["worst_request"] else ""
    told = f"node {status.get('node_id')}: held {human.plural(loop['holds'], 'time')}, at worst {loop['worst_ms']} ms"
    yield Check(
        "warn", "loop", f"{told} by {loop['worst_where']}{served}", "All clients waited. Look at the node's log."
    )
