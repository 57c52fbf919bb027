"""The rules a value can be held to, as small factories; each carries the words the documentation shows.

They are Kafka 4.3's rules (ranges, choices, lists), found by asking a running one, so that what one
accepts the other accepts too. `none` for `compression.type` is the one addition: producers spell "uncompressed" so.
"""

import re
from collections.abc import Sequence

from barnabas.model.settings.kinds import Valid, Value


def at_least(low: int) -> Valid:
    return Valid(f"{low} or more", lambda v: None if _number(v) >= low else f"must be {low} or more")


def any_but_zero() -> Valid:
    """For a retention, where below zero means for ever: nothing could be kept for no time at all."""
    return Valid("any but 0", lambda v: "must not be 0" if v == 0 else None)


def between(low: float, high: float, *, also: Sequence[int] = ()) -> Valid:
    extra = "".join(f" or {number}" for number in also)
    text = f"{low} to {high}{extra}"
    return Valid(text, lambda v: None if low <= _number(v) <= high or v in also else f"must be {text}")


def one_of(*choices: str, any_case: bool = False) -> Valid:
    known = {choice.lower() for choice in choices} if any_case else set(choices)
    text = ", ".join(choices)
    return Valid(text, lambda v: None if (str(v).lower() if any_case else v) in known else f"must be one of: {text}")


def list_of(*choices: str, empty: bool = True, always: str = "") -> Valid:
    """A list without empty items; of `choices` only, when there are any; `always` must be among them."""

    def problem(value: Value) -> str | None:
        items = value if isinstance(value, tuple) else ()
        if not items and not empty:
            return "must not be empty"
        if "" in items:
            return "has an empty item"
        if always and always not in items:
            return f"must contain {always}"
        stranger = next((item for item in items if choices and item not in choices), None)
        return None if stranger is None else f"{stranger!r} is not one of: {', '.join(choices)}"

    text = "a list of: " + ", ".join(choices) if choices else "a list"
    return Valid(text if empty else f"{text}, not empty", problem)


def ends_in(*endings: str) -> Valid:
    """A class by its name, with or without its package; or nothing."""
    text = f"a name that ends in {' or '.join(endings)}"
    return Valid(text, lambda v: None if not v or str(v).endswith(endings) else f"must be {text}")


def not_empty() -> Valid:
    return Valid("not empty", lambda v: "must not be empty" if v == "" else None)


def throttled_replicas() -> Valid:
    """`*`, nothing, or partition:broker pairs (KIP-73)."""
    pair = re.compile(r"[0-9]+:[0-9]+")

    def problem(value: Value) -> str | None:
        items = value if isinstance(value, tuple) else ()
        if items in ((), ("*",)) or all(pair.fullmatch(item.strip()) for item in items):
            return None
        return "must be *, or a list of partition:broker"

    return Valid("* or a list of partition:broker", problem)


def offset_reset() -> Valid:
    duration = re.compile(r"by_duration:P(?!$)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?")
    text = "latest, earliest or by_duration:PnDTnHnMn.nS"
    return Valid(
        text,
        lambda v: None if v in ("latest", "earliest") or duration.fullmatch(str(v)) else f"must be {text}",
    )


def addresses_with_numbers() -> Valid:
    """ADDRESS:NUMBER, separated by commas; an address of IPv6 has colons itself."""
    pair = re.compile(r"\s*[^,\s]+:\s*[0-9]{1,9}\s*")

    def problem(value: Value) -> str | None:
        items = [item for item in str(value or "").split(",") if item.strip()]
        wrong = next((item for item in items if not pair.fullmatch(item)), None)
        return None if wrong is None else f"{wrong!r} is not ADDRESS:NUMBER"

    return Valid("ADDRESS:NUMBER, separated by commas", problem)


def _number(value: Value) -> float:
    return value if isinstance(value, int | float) else 0
