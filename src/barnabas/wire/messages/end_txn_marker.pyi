"""The types of wire/schema/end_txn_marker.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

class EndTxnMarker(Struct, kw_only=True):
    coordinator_epoch: int = ...

class EndTxnMarkerBody(TypedDict, total=False):
    coordinator_epoch: int
