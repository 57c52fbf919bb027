"""AsyncNodes against real nodes: any node and each by its id, a restart between two requests, a login, what refuses."""

import asyncio
import ssl

import pytest

from barnabas.link.async_nodes import AsyncNodes, AsyncOptions
from barnabas.link.errors import LoginFailed, Unreachable
from barnabas.link.sasl import Credentials
from barnabas.link.view import GROUP_KEY
from barnabas.testing import running_node
from barnabas.wire.apis import DESCRIBE_CLUSTER

OPTIONS = AsyncOptions("test", connect_timeout_s=10)


def address(bootstrap: str) -> tuple[str, int]:
    host, port = bootstrap.rsplit(":", 1)
    return host, int(port)


def test_any_node_and_each_by_its_id() -> None:
    with running_node() as node:

        async def story() -> None:
            nodes = AsyncNodes([("127.0.0.1", 1), address(node.bootstrap)], OPTIONS)  # nobody is at the first address
            try:
                (node_id,) = await nodes.node_ids()
                answers = await asyncio.gather(*(nodes.ask(node_id, DESCRIBE_CLUSTER, {}) for _ in range(20)))
                assert len({each.cluster_id for each in answers}) == 1
                assert await nodes.find_coordinators(GROUP_KEY, ["a", "b"]) == {}
                assert nodes.view.coordinator(GROUP_KEY, "b") == node_id
                assert (await nodes.look_up(None)).cluster_id == answers[0].cluster_id
            finally:
                nodes.close()

        asyncio.run(story())


def test_a_node_that_was_restarted_is_reached_again() -> None:
    with running_node() as node:

        async def story() -> None:
            nodes = AsyncNodes([address(node.bootstrap)], OPTIONS)
            try:
                before = await nodes.node_ids()
                await asyncio.to_thread(node.restart)
                assert await nodes.node_ids() == before
            finally:
                nodes.close()

        asyncio.run(story())


def test_nobody_there_and_an_unknown_node_are_unreachable() -> None:
    with running_node() as node:

        async def story() -> None:
            with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1: "):
                await AsyncNodes([("127.0.0.1", 1)], OPTIONS).node_ids()
            nodes = AsyncNodes([address(node.bootstrap)], OPTIONS)
            with pytest.raises(Unreachable, match="node 77 is not there"):
                await nodes.ask(77, DESCRIBE_CLUSTER, {})
            nodes.close()

        asyncio.run(story())


def test_a_login_is_made_or_refused() -> None:

    with running_node(secure=True, users={"ada": "right"}) as node:
        authority = ssl.create_default_context(cafile=node.login("ada")["ssl.ca.location"])

        async def ids(password: str) -> list[int]:
            login = Credentials("SCRAM-SHA-512", "ada", password)
            nodes = AsyncNodes([address(node.bootstrap)], AsyncOptions("test", tls=authority, credentials=login))
            try:
                return await nodes.node_ids()
            finally:
                nodes.close()

        assert asyncio.run(ids("right"))
        with pytest.raises(LoginFailed, match="the login failed"):
            asyncio.run(ids("wrong"))


def test_a_new_login_counts_from_the_next_request_on_and_ends_nothing() -> None:
    with running_node(secure=True, users={"ada": "right"}) as node:
        authority = ssl.create_default_context(cafile=node.login("ada")["ssl.ca.location"])
        right, wrong = (Credentials("SCRAM-SHA-512", "ada", each) for each in ("right", "wrong"))

        async def story() -> None:
            nodes = AsyncNodes([address(node.bootstrap)], AsyncOptions("test", tls=authority, credentials=right))
            await nodes.node_ids()
            under_way = asyncio.ensure_future(nodes.node_ids())
            await asyncio.sleep(0)  # it is sent
            nodes.log_in_as(wrong)
            assert await under_way
            with pytest.raises(LoginFailed):
                await nodes.node_ids()
            nodes.log_in_as(right)
            assert await nodes.node_ids()
            nodes.close()

        asyncio.run(story())
