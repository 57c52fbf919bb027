"""The list of transactions while coordinators load, do not answer, or do not know the request."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from barnabas.console.clusters import transactions as reading
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.errors import LinkDown, UnknownApi
from barnabas.model.errors import ErrorCode

LOADING = int(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
TILL = SimpleNamespace(transactional_id="till", producer_id=7, transaction_state="Ongoing")


class Answers:
    """In place of a cluster: what each node answers, one after the other; the last one again and again."""

    def __init__(self, **of_nodes: list[int | Exception]) -> None:
        self._of_nodes = {int(name.removeprefix("n")): answers for name, answers in of_nodes.items()}

    async def ask(self, node: int, *_: object, **__: object) -> object:
        answers = self._of_nodes[node]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(error_code=answer, transaction_states=[] if answer else [TILL])


def listed(answers: Answers, *nodes: int) -> reading.Found:
    return asyncio.run(reading.read_listed(cast(AsyncNodes, answers), nodes, ended=False))


def test_a_coordinator_that_loads_is_asked_again() -> None:
    found = listed(Answers(n1=[LOADING, LOADING, 0]), 1)
    assert [each.transactional_id for each in found.listed] == ["till"]
    assert (found.silent, found.cannot) == ([], [])


def test_one_that_does_not_end_loading_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LOADING_SECONDS", 0.05)
    found = listed(Answers(n1=[LOADING], n2=[0]), 1, 2)
    assert len(found.listed) == 1
    assert (found.silent, found.cannot) == ([1], [])


def test_who_does_not_know_the_request_is_told_apart_from_who_does_not_answer() -> None:
    found = listed(Answers(n1=[UnknownApi("ListTransactions")], n2=[LinkDown("gone")]), 1, 2)
    assert (found.silent, found.cannot) == ([1, 2], [1])
