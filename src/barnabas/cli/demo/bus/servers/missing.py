"""Why a part of the story is left out."""

from __future__ import annotations

import importlib.util


class Missing(Exception):
    """A server that cannot be had, in one line: why, and how to get it."""

    def __init__(self, why: str, way_out: str = "") -> None:
        super().__init__(f"{why}. {way_out}" if way_out else why)


def need_modules(*names: str) -> None:
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise Missing(f"the Python package {name} is not installed", "Install it: pip install 'barnabas[connect]'")
