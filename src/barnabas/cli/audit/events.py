"""An event of the audit trail as a person reads it in a terminal."""

from __future__ import annotations

from datetime import datetime

from barnabas.cli.common.screen import paint, quoted
from barnabas.operate.access.audit_events import Event


def line(event: Event) -> str:
    """One event, in columns that stay where they are."""
    result, style = _result(event)
    what = event.get("operation") or event.get("event", "")
    cells = (
        _local(event.get("time", "")),
        paint(f"{result:7}", style),
        f"{quoted(event.get('principal') or '-'):20}",
        f"{what:16}",
        f"{quoted(event.get('resource') or '-'):28}",
        f"{quoted(event.get('host') or '-'):15}",
        quoted(_rest(event)),
    )
    return "  ".join(cells).rstrip()


def _result(event: Event) -> tuple[str, str]:
    if not event.get("allowed", False):
        return "denied", "red"
    return ("failed", "yellow") if event.get("error") else ("ok", "green")


def _rest(event: Event) -> str:
    times = f"x{event['count']:,}" if event.get("count", 1) > 1 else ""
    by = " ".join(filter(None, (event.get("api"), event.get("software") and f"by {event['software']}")))
    return ", ".join(filter(None, (times, event.get("error"), event.get("reason"), event.get("detail"), by)))


def _local(time: str) -> str:
    try:
        return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return quoted(time)
