"""Records of `_schemas` as Confluent's registry writes them, for tests that have no registry."""

from __future__ import annotations

import json
from typing import Any

TOPIC = "_schemas"


def schema_record(subject: str, version: int, schema_id: int, **more: Any) -> tuple[bytes, bytes]:
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    said = {"subject": subject, "version": version, "id": schema_id, "schema": '"string"', "deleted": False}
    return json.dumps(key).encode(), json.dumps(said | more).encode()
