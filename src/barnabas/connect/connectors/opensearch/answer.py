"""The answer to a bulk request: which records are done, which to send again, which OpenSearch will never take."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from barnabas.connect.contract import Delivered, Rejected
from barnabas.connect.errors import Unavailable

NO_ERRORS_WITHIN = 100  # bytes of an answer in which `"errors":false` stands
REASON_MAX = 500  # characters of what OpenSearch says that are passed on
CAUSES_MAX = 4

# The fields of an answer that are asked for: a fifth of what OpenSearch would send.
FILTER = "errors,items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by"
BUSY = frozenset({429, 502, 503, 504})

# Errors by which OpenSearch refuses a record though nothing is wrong with it: somebody has to change something there.
_MEND = {
    "index_closed_exception": "Open the index",
    "index_not_found_exception": "Create the index, or allow action.auto_create_index for it",
    "security_exception": "Give the user the right to write to the index and to create it",
    "cluster_block_exception": (
        "Free disk space or add nodes; remove index.blocks.read_only_allow_delete or cluster.blocks if it stays"
    ),
}
_MEND_BY_REASON = {
    "maximum": ("validation_exception", "Delete indexes or raise cluster.max_shards_per_node"),
    "op_type of create": ("illegal_argument_exception", "Set data_stream: true, for the index is a data stream"),
}


class Cause(msgspec.Struct):
    type: str = ""
    reason: str | None = None
    caused_by: Cause | None = None


class Item(msgspec.Struct):
    status: int
    error: Cause | None = None


class Answer(msgspec.Struct):
    items: list[dict[str, Item]]
    errors: bool = True


_DECODER = msgspec.json.Decoder(Answer)


def again(body: bytes, records: Sequence[Delivered], rejected: list[Rejected], index: str) -> tuple[list[int], str]:
    """Places of the records to send again, and why. Records that can never be written are added to `rejected`. Raises
    Unavailable for what no record can help."""
    if b'"errors":false' in body[:NO_ERRORS_WITHIN]:
        return [], ""
    try:
        items = _DECODER.decode(body).items
    except (msgspec.DecodeError, RecursionError):
        raise Unavailable("opensearch gave an answer that is no bulk answer", "Is 'url' right?") from None
    if len(items) != len(records):
        raise Unavailable(f"opensearch answered for {len(items)} of {len(records)} records")
    places, why = [], ""
    for place, each in enumerate(items):
        for item in each.values():
            if item.status < 300 or item.status == 409 or item.error is None:
                continue  # 409: this or a newer version is there already; 404 without an error: nothing to delete
            way_out = _way_out(item.error)
            if way_out:
                raise Unavailable(f"opensearch takes no records for {index!r}: {in_words(item.error)}", way_out)
            if item.status in BUSY or item.status >= 500:
                places.append(place)
                why = in_words(item.error)
            else:
                rejected.append(Rejected(records[place], f"opensearch refuses it: {in_words(item.error)}"))
    return places, why


def _way_out(error: Cause) -> str:
    if error.type in _MEND:
        return _MEND[error.type]
    for word, (kind, way_out) in _MEND_BY_REASON.items():
        if error.type == kind and word in (error.reason or ""):
            return way_out
    return ""


def in_words(error: Cause | None) -> str:
    """An error with what caused it, in one line."""
    said: list[str] = []
    kind = error.type if error else ""
    while error is not None and len(said) < CAUSES_MAX:
        if error.reason and error.reason not in said:
            said.append(error.reason)
        error = error.caused_by
    line = ": ".join(filter(None, (kind, "; ".join(said)))) or "without a reason"
    return " ".join(line.split())[:REASON_MAX]


class Whole(msgspec.Struct):
    """The body of a request that failed as a whole."""

    error: Cause | str = ""


def whole(body: bytes) -> Cause:
    try:
        error = msgspec.json.decode(body, type=Whole).error
    except (msgspec.DecodeError, RecursionError):
        return Cause()
    return error if isinstance(error, Cause) else Cause("", error)
