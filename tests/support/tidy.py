"""Events that arrive in order, once, at once."""

from __future__ import annotations

from barnabas.pipelines.common.disorder import Disorder

TIDY = Disorder(network_ms=0, late=0, too_late=0, twice=0)
