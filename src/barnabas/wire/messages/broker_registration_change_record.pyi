"""The types of wire/schema/metadata/broker_registration_change_record.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

class BrokerRegistrationChangeRecord(Struct, kw_only=True):
    broker_id: int = ...
    broker_epoch: int = ...
    fenced: int = ...
    in_controlled_shutdown: int = ...
    log_dirs: list[bytes] = ...
    cordoned_log_dirs: list[bytes] | None = ...

class BrokerRegistrationChangeRecordBody(TypedDict, total=False):
    broker_id: int
    broker_epoch: int
    fenced: int
    in_controlled_shutdown: int
    log_dirs: Sequence[bytes]
    cordoned_log_dirs: Sequence[bytes] | None
