"""The audit trail as a role shows it."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.browse import Page, Place, Record
from barnabas.console.options import Role
from barnabas.console.pages.access.trail import audit
from barnabas.console.people.roles import may_see_records
from barnabas.console.problems import NotAllowed


def events(role: Role) -> list[dict[str, object]]:
    told = [{"node": 1, "sequence": 7, "host": "10.0.0.9"}, {"node": "x", "sequence": {}}]
    records = [
        Record("__audit", 0, at, 0, "create", None, json.dumps(each).encode(), ()) for at, each in enumerate(told)
    ]

    async def page(*_: object) -> Page:
        return Page(records, None, Place("newest"), {}, {})

    call: Any = SimpleNamespace(
        role=role, text=lambda _: "", flag=lambda _: False, must_see_records=lambda topic: may_see_records(role, topic)
    )
    call.connection = SimpleNamespace(browser=SimpleNamespace(page=page))
    answer: Any = asyncio.run(audit(call))
    return list(answer["events"])


def test_fields_that_a_role_masks_are_hidden_there_too_and_what_is_no_event_is_left_out() -> None:
    assert events(Role()) == [{"node": 1, "sequence": 7, "host": "10.0.0.9"}]
    assert events(Role(mask=(".host",))) == [{"node": 1, "sequence": 7, "host": "***"}]


@pytest.mark.parametrize("role", [Role(data=False), Role(topics=("orders",))])
def test_it_is_for_people_who_may_see_its_records(role: Role) -> None:
    with pytest.raises(NotAllowed):
        events(role)
