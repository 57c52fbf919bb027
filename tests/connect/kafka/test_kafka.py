"""Between two real nodes, which are killed. What needs one node that stays up is in tests/unit/connect/kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.connect.connectors.kafka.source import KafkaSource
from barnabas.connect.errors import Unavailable
from tests.support.connect import ConnectWorker, all_records, running, written
from tests.support.delivered import numbered
from tests.support.members import until
from tests.support.servers import BarnabasNode
from tests.unit.connect.kafka.copying import keys, made, produce, reading, take, writing, written_there


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode]:
    with BarnabasNode(tmp_path_factory.mktemp("here")) as node:
        assert isinstance(node, BarnabasNode)
        yield node


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode]:
    with BarnabasNode(tmp_path_factory.mktemp("there")) as node:
        assert isinstance(node, BarnabasNode)
        yield node


def test_a_node_that_is_killed(tmp_path: Path) -> None:
    with BarnabasNode(tmp_path) as node:
        assert isinstance(node, BarnabasNode)
        topic = made(node)
        produce(node, topic, range(10))
        with reading(node, f"{topic}:0") as reader, writing(node, "w") as writer:
            records, position = take(reader, 10)
            writer.write(numbered(0, 5, topic=topic), 5)
            node.kill()
            until(lambda: _fails(lambda: reader.read(1, 0.2)), "the reader to notice", 20)
            with pytest.raises(Unavailable, match=rf"{node.bootstrap}"):
                KafkaSource("x", {"bootstrap": node.bootstrap, "topics": [topic]}).splits()
            node.start()
            with reading(node, f"{topic}:0", position) as again:
                assert len(take(again, 5)[0]) == 5
            assert keys(records) == list(range(10))
        with writing(node, "w") as writer:
            assert writer.next_offset() == 5


def _fails(work: Callable[[], object]) -> bool:
    try:
        work()
    except Unavailable:
        return True
    return False


@pytest.mark.long
def test_from_cluster_to_cluster_by_a_worker(here: BarnabasNode, there: BarnabasNode, tmp_path: Path) -> None:
    """The definition of the page, both ways, with a worker that is killed in between."""
    topic = made(there, 2)
    produce(there, topic, range(300), 2)
    definitions = written(
        tmp_path / "copy.yaml",
        f"""
        name: in-{topic}
        from: {{kafka: {{bootstrap: "{there.bootstrap}", topics: [{topic}]}}}}
        to: {{topic: {topic}}}
        ---
        name: out-{topic}
        from: {{topics: [{topic}], format: bytes, key_format: bytes}}
        to: {{kafka: {{bootstrap: "{there.bootstrap}", topic: "back-{{topic}}"}}}}
        """,
    )
    made(here, 2, topic)
    made(there, 2, f"back-{topic}")
    worker = ConnectWorker(here.bootstrap, tmp_path / "worker.log", definitions)
    with running(worker):
        until(lambda: len(written_there(there, f"back-{topic}")) > 50, "records that came back", 60)
        worker.kill()
        produce(there, topic, range(300, 400), 2)
    with running(worker):
        until(lambda: len(written_there(there, f"back-{topic}")) >= 400, "all records", 60)
    for node, name in ((here, topic), (there, f"back-{topic}")):
        found = [int((message.key() or b"")[4:]) for message in all_records(node.bootstrap, name)]
        assert sorted(found) == list(range(400))
