"""Lengths of time as a person writes them in an option: 500ms, 30s, 15m, 2h, 1d."""

from __future__ import annotations

import re

from barnabas.pipelines.errors import PipelineError

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def span_ms(text: str, name: str) -> int:
    """The milliseconds that an option means; a PipelineError that names the option when it means none."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", text.lower())
    if found is None or found[2] not in _UNITS_MS:
        raise PipelineError(f"{name}={text!r} is not a length of time. Write 500ms, 30s, 15m, 2h or 1d")
    return int(float(found[1]) * _UNITS_MS[found[2]])
