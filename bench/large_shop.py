"""Visits of any number of web shops: what `lake` takes in. A million visits are of one shop."""

from __future__ import annotations

from itertools import islice

import msgspec

from barnabas.pipelines.lake import generator

from .large_log import PLACE, write_copies

SHOP_EVENTS = 1_000_000
DAY_MS = 86_400_000
_SEED = 0x1A4E


def write(bootstrap: str, names: dict[str, str], events: int, end_ms: int) -> int:
    """Write so many visits, about, of the day that ends then. Returns how many records they are."""
    shops = max(1, round(events / SHOP_EVENTS))
    each = min(events, SHOP_EVENTS)
    records = generator.generate(_SEED, end_ms - DAY_MS, 1.02 * each / (DAY_MS / 1000))  # all in the day
    made = []
    for record in islice(records, each):
        value = {**record.value, "id": f"{PLACE}{record.value['id']}", "member": f"{PLACE}{record.key}"}
        made.append((record.topic, f"{PLACE}{record.key}", msgspec.json.encode(value).decode(), record.time_ms))
    write_copies(bootstrap, names, made, shops)
    return len(made) * shops
