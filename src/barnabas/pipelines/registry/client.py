"""The registry's client, one in a Python process: Spark keeps its workers, and a schema is asked for once in each."""

from __future__ import annotations

import os

from barnabas.client.errors import BarnabasError
from barnabas.client.serde.registry.registry import Registry
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.registry.options import RegistryOptions

_KEPT_MAX = 16  # registries of one process; a query has one
_kept: dict[tuple[int, RegistryOptions], Registry] = {}


def registry_client(options: RegistryOptions) -> Registry:
    """Made after the fork: two processes cannot share a connection."""
    key = (os.getpid(), options)
    found = _kept.get(key)
    if found is None:
        try:
            found = Registry(options.url, **dict(options.settings))
        except BarnabasError as error:
            raise PipelineError(f"registry: {error}") from None
        if len(_kept) >= _KEPT_MAX:
            _kept.clear()
        _kept[key] = found
    return found
