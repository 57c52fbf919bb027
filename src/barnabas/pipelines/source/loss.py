"""Data loss, in one place: an error that says what to do, or a warning in the log when the query allows it."""

from __future__ import annotations

import logging

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source.options import SourceOptions

logger = logging.getLogger(__name__)


def lost(what: str, options: SourceOptions) -> None:
    if options.fail_on_data_loss:
        raise PipelineError(f"data was lost: {what} (set failOnDataLoss to false to go on with what is left)")
    logger.warning("data was lost: %s", what)
