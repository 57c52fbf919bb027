"""Every protocol x every mechanism x every client: records in, out by a group, a transaction, topics made and deleted;
and with credentials that are wrong the client's own error, and nothing served.

`make matrix` runs all of it; `make test` every client and every way at least once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.security.matrix.clients.contract import ADMIN, Client
from tests.security.matrix.node import Stage
from tests.security.matrix.refusals import said_for
from tests.security.matrix.ways import WAYS, WRONGS, Way, Wrong

pytestmark = pytest.mark.timeout(180)
CLIENTS = ("confluent-kafka", "java", "aiokafka", "kafka-python", "franz-go", "kafkajs", "kcat")


def every(rows: Sequence[object]) -> list[object]:
    """Every row with every client. What is not on the diagonal is for `make matrix`."""
    return [
        pytest.param(client, row, id=f"{client}-{row}", marks=[] if at % len(CLIENTS) == number else [pytest.mark.long])
        for at, row in enumerate(rows)
        for number, client in enumerate(CLIENTS)
    ]


@pytest.mark.parametrize(("name", "way"), every(WAYS))
def test_a_client_works(node: Stage, client_of: Callable[[str], Client], tmp_path: Path, name: str, way: Way) -> None:
    client, to = client_of(name), node.right(way, tmp_path)
    topic = node.make_topic(way)
    client.produce(to, topic, "plain")
    assert client.consume(to, topic, f"{topic}-group") == "plain"
    within = node.make_topic(way)
    client.transaction(to, within, "in a transaction", f"{within}-id")
    assert client.consume(to, within, f"{within}-group") == "in a transaction"
    if ADMIN not in client.missing:
        client.admin(to, f"{topic}-made")
        assert f"{topic}-made" not in node.topics()


@pytest.mark.parametrize(("name", "wrong"), every(WRONGS))
def test_a_client_is_refused(
    node: Stage, client_of: Callable[[str], Client], tmp_path: Path, name: str, wrong: Wrong
) -> None:
    client, to = client_of(name), node.wrong(wrong, tmp_path)
    topic = node.make_topic(wrong.way)
    with pytest.raises(Exception) as refused:  # each client has an error of its own
        client.produce(to, topic, "never stored")
    said = f"{type(refused.value).__name__}: {refused.value}"
    assert re.search(said_for(name, wrong), said), said
    assert node.end_of(topic) == 0
    if ADMIN not in client.missing:
        with pytest.raises(Exception):  # noqa: B017  (each client has an error of its own)
            client.admin(to, f"{topic}-made")
        assert f"{topic}-made" not in node.topics()
