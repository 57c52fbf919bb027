"""Connections to other nodes: whoever waits for one that is given up hears of it, and is not cancelled with it."""

import asyncio
from typing import Any

import pytest

from barnabas.broker.controller.leader_connection import LeaderConnection
from barnabas.broker.controller.link import ControllerLink
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.session import OWN
from barnabas.broker.peers.table import PeerConnector, wait_for
from barnabas.link.asyncio_driver import AsyncLink
from barnabas.link.errors import LinkDown
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.apis import ALLOCATE_PRODUCER_IDS


async def _never() -> AsyncLink:
    await asyncio.sleep(3600)
    raise AssertionError


async def _waiting(connecting: "asyncio.Task[AsyncLink]") -> "asyncio.Task[AsyncLink]":
    waiting = asyncio.ensure_future(wait_for(connecting))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return waiting


def test_a_connection_that_is_given_up_is_gone() -> None:
    async def story() -> None:
        connecting = asyncio.ensure_future(_never())
        waiting = await _waiting(connecting)
        connecting.cancel()  # as when the controller has moved
        with pytest.raises(LinkDown):
            await waiting

    asyncio.run(story())


def test_whoever_is_cancelled_itself_stays_cancelled() -> None:
    async def story() -> None:
        connecting = asyncio.ensure_future(_never())
        waiting = await _waiting(connecting)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not connecting.done()  # others may still wait for it
        connecting.cancel()

    asyncio.run(story())


def test_whoever_asks_the_controller_of_a_node_that_stops_is_refused_at_once() -> None:
    """Not asked again and again, without waiting, until the time is up."""

    class NoLeader:
        leader = (-1, None)

    async def unused(*_: object) -> Any:
        raise AssertionError

    async def story() -> None:
        leader = LeaderConnection(1, NoLeader(), PeerConnector(1, unused))
        link = ControllerLink(1, leader, lambda: False, unused, unused, unused)
        asking = asyncio.ensure_future(link.forward(b"", OWN, 60_000))
        await asyncio.sleep(0)
        link.close()
        with pytest.raises(KafkaError) as refused:
            await asyncio.wait_for(asking, 5)
        assert refused.value.code is ErrorCode.NOT_CONTROLLER

    asyncio.run(story())


def test_the_active_controller_asks_itself_without_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """And asks again where it turns out to be active no longer, and is once more."""

    class NoLeader:
        leader = (-1, None)

    async def unused(*_: object) -> Any:
        raise AssertionError

    asked: list[Any] = []

    async def answer_here(request: Any, context: RequestContext) -> dict[str, Any]:
        asked.append((request.broker_id, context.api_key, context.session))
        if len(asked) == 1:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "no longer")
        return {"producer_id_start": 1000, "producer_id_len": 10}

    async def story() -> None:
        leader = LeaderConnection(1, NoLeader(), PeerConnector(1, unused))
        link = ControllerLink(1, leader, lambda: True, unused, answer_here, unused)
        answer = await link.ask(ALLOCATE_PRODUCER_IDS, 0, {"broker_id": 7, "broker_epoch": 3})
        assert (answer.error_code, answer.producer_id_start, answer.producer_id_len) == (0, 1000, 10)
        assert asked == [(7, ALLOCATE_PRODUCER_IDS, OWN)] * 2

    monkeypatch.setattr("barnabas.broker.controller.link.encode_request", unused)
    asyncio.run(story())
