"""Clients' own view: what clients measure and push to the nodes (KIP-714), as nodes show it in /metrics."""

from __future__ import annotations

from collections import defaultdict

from barnabas.console.web.calls import Call, Route

_PREFIX = "kafka_client_"
_INFO, _AGE = "barnabas_telemetry_client_info", "barnabas_telemetry_push_age_seconds"
_INSTANCE, _CLIENT = "client_instance_id", "client_id"
_FIRST_LOOK_SECONDS = 5.0
_SERIES_MAX = 500  # of one client


async def clients(call: Call) -> object:
    """Every client that pushed lately: who it is, how long ago, how many series."""
    await call.connection.observer.first_look(_FIRST_LOOK_SECONDS)
    found = []
    for node, metrics in call.connection.metrics.last.items():
        ages = {labels.get(_INSTANCE): value for labels, value in metrics.rows(_AGE)}
        counts: dict[str | None, int] = defaultdict(int)
        for name in metrics.names():
            if name.startswith(_PREFIX):
                for labels, _ in metrics.rows(name):
                    counts[labels.get(_INSTANCE)] += 1
        for labels, _ in metrics.rows(_INFO):
            instance = labels.get(_INSTANCE)
            found.append({**labels, "node": node, "age": ages.get(instance), "series": counts.get(instance, 0)})
    return {"measured": bool(call.connection.metrics.last), "clients": found}


async def one_client(call: Call) -> object:
    """The last values of one client instance."""
    wanted = call.path("instance")
    rows = [
        {
            "name": name.removeprefix(_PREFIX),
            "labels": {key: text for key, text in labels.items() if key not in (_INSTANCE, _CLIENT)},
            "value": value,
        }
        for metrics in call.connection.metrics.last.values()
        for name in metrics.names()
        if name.startswith(_PREFIX)
        for labels, value in metrics.rows(name)
        if labels.get(_INSTANCE) == wanted
    ]
    return {"series": rows[:_SERIES_MAX], "left_out": max(0, len(rows) - _SERIES_MAX)}


ROUTES = [
    Route("GET", "/clients", clients),
    Route("GET", "/clients/{instance}", one_client),
]
