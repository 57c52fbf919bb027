"""Log levels while the node runs (the BROKER_LOGGER resource, KIP-412): Python's loggers by Kafka's names for levels.

They are not stored: a restart brings back what the command line said.
"""

import logging

from barnabas.model.errors import ErrorCode, KafkaError

ROOT = "root"
_TO_KAFKA = {
    logging.DEBUG: "DEBUG",
    logging.INFO: "INFO",
    logging.WARNING: "WARN",
    logging.ERROR: "ERROR",
    logging.CRITICAL: "FATAL",
}
_TO_PYTHON = {name: level for level, name in _TO_KAFKA.items()} | {"TRACE": logging.DEBUG}
SET, DELETE = 0, 1


def logger_levels() -> dict[str, str]:
    """The level in force of each of our loggers, and of the root they all end in."""
    names = sorted(name for name in logging.root.manager.loggerDict if name.split(".")[0] == "barnabas")
    levels = {name: logging.getLogger(name).getEffectiveLevel() for name in names}
    levels[ROOT] = logging.root.level
    return {name: _TO_KAFKA[max(level // 10 * 10, logging.DEBUG)] for name, level in levels.items()}


def change_levels(changes: list[tuple[str, int, str | None]], validate_only: bool) -> None:
    """Set a logger's level or let it follow its parent again; all the changes or, with KafkaError, none."""
    known = logger_levels()
    for name, operation, level in changes:
        if operation not in (SET, DELETE):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name}: a log level can be set or deleted, nothing else")
        if name not in known:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"no logger {name!r}")
        if operation == DELETE and name == ROOT:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "the root logger always has a level")
        if operation == SET and level not in _TO_PYTHON:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{name}: {level!r} is not one of {', '.join(_TO_PYTHON)}")
    if validate_only:
        return
    for name, operation, level in changes:
        logger = logging.root if name == ROOT else logging.getLogger(name)
        logger.setLevel(_TO_PYTHON[str(level)] if operation == SET else logging.NOTSET)
