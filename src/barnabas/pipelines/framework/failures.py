"""What went wrong inside Spark, in one line a person can act on.

An error of ours that was raised in a worker comes back as text in the middle of two stack traces; Spark's own come with
a class name, an error class and a query plan. This picks the one sentence that says it.
"""

from __future__ import annotations

import re

# Spark quotes a Python worker's traceback; its last line is the error itself.
_OURS = re.compile(
    r"(?:barnabas\.[\w.]+\.)?(?:PipelineError|BarnabasError|CannotReach|TimedOut|UnknownTopic|Refused): (.+)"
)
_PYTHON = re.compile(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)
_CONDITION = re.compile(r"^\[[A-Z_.]+\] ")
_OTHER_STATE = ("STATEFUL_OPERATOR_NOT_MATCH", "STATE_STORE_KEY_SCHEMA", "STATE_STORE_VALUE_SCHEMA")
_PY4J = "An error occurred while calling "  # what follows is Java's own
_LONGEST = 400


def explain(error: BaseException) -> str:
    text = _text(error)
    ours = _OURS.findall(text)
    if ours:
        return _one_line(ours[-1])
    python = [found for found in _PYTHON.findall(text) if found[0] not in ("PythonException", "SparkException")]
    if python and "Traceback" in text:
        return _one_line(f"{python[-1][0]}: {python[-1][1]}")
    if "Python worker exited unexpectedly" in text or "EOFException" in text:
        return "a Python worker died"
    if any(condition in text for condition in _OTHER_STATE):
        return "its progress was written by another version of this pipeline, whose state does not fit: use --fresh"
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(_PY4J)]
    first = lines[0].removeprefix(": ") if lines else type(error).__name__
    told = re.sub(r"^.*terminated with exception: ", "", first)
    return _one_line(f"{type(error).__name__}: {_CONDITION.sub('', told)}")


def _text(error: BaseException) -> str:
    """With the causes below it, which Spark's Python classes keep as text."""
    parts = [str(error)]
    cause = getattr(error, "cause", None) or error.__cause__
    while cause is not None and len(parts) < 5:
        parts.append(str(cause))
        cause = getattr(cause, "cause", None) or cause.__cause__
    return "\n".join(parts)


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    text = re.sub(r" SQLSTATE: \w{5}", "", text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
