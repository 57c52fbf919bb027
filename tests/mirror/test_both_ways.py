"""Both clusters write, and each has what the other one wrote: once, and never its own records again."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, ResourceType

from barnabas.wire.batch import iter_batches
from barnabas.wire.compression import Codec
from tests.linked_clusters.conftest import FAST
from tests.linked_clusters.pair import barnabas, create, produce
from tests.mirror.sides import MirrorProcess, Sides, has_values, status_of, topics_of
from tests.support.connect import all_records
from tests.support.members import QUIET, until
from tests.support.servers import BarnabasNode


def _settings(bootstrap: str, topic: str) -> dict[str, str]:
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    resource = ConfigResource(ResourceType.TOPIC, topic)
    return {name: each.value for name, each in admin.describe_configs([resource])[resource].result(20).items()}


def _contents(bootstrap: str, topic: str) -> set[object]:
    return {
        (each.partition(), each.key(), each.value(), each.timestamp(), str(each.headers()))
        for each in all_records(bootstrap, topic)
    }


def _codecs(data: Path, topic: str) -> set[Codec]:
    logs = [each.read_bytes() for each in data.glob(f"{topic}-*/*.log")]
    return {header.codec for log in logs for _, header in iter_batches(log) if header.record_count > 1}


def test_active_active_by_the_names_of_mirrormaker(sides: Sides) -> None:
    east, west = sides.east, sides.west
    create(east, "orders", 3, retention_ms="86400000", min_insync_replicas="1")
    create(west, "orders", 2)
    produce(east, "orders", [f"e{n}" for n in range(2000)], **{"compression.type": "zstd"})
    sides.mirror("--both", "--topics", "orders.*|.*\\.orders")
    produce(west, "orders", [f"w{n}" for n in range(500)])
    has_values(west, "east.orders", [f"e{n}" for n in range(2000)])
    has_values(east, "west.orders", [f"w{n}" for n in range(500)])

    assert Codec.ZSTD in _codecs(sides.nodes["west"].data, "east.orders"), "large batches stay as they are"
    there, here = _contents(east, "orders"), _contents(west, "east.orders")
    assert there == here
    assert _settings(west, "east.orders")["retention.ms"] == "86400000"

    # An aborted transaction is not copied, a committed one is.
    producer = Producer({**QUIET, "bootstrap.servers": east, "transactional.id": "t"})
    producer.init_transactions(30)
    for ending in ("abort", "commit"):
        producer.begin_transaction()
        producer.produce("orders", f"in a transaction: {ending}", partition=1)
        producer.flush(30)
        producer.commit_transaction(30) if ending == "commit" else producer.abort_transaction(30)
    # New partitions, settings and topics follow.
    admin = AdminClient({**QUIET, "bootstrap.servers": east})
    admin.create_partitions([NewPartitions("orders", 4)])["orders"].result(20)
    create(east, "orders-later", 1)
    produce(east, "orders-later", ["late"])
    producer = Producer({**QUIET, "bootstrap.servers": east})
    until(lambda: len(producer.list_topics("orders", 10).topics["orders"].partitions) == 4, "it has grown")
    producer.produce("orders", "in the new one", partition=3)
    assert producer.flush(30) == 0
    wanted = [*(f"e{n}" for n in range(2000)), "in a transaction: commit", "in the new one"]
    has_values(west, "east.orders", wanted)
    has_values(west, "east.orders-later", ["late"])

    until(lambda: "west.heartbeats" in topics_of(east) and bool(all_records(east, "west.heartbeats")), "heartbeats")
    until(lambda: "east.heartbeats" in topics_of(west) and bool(all_records(west, "east.heartbeats")), "heartbeats")
    for bootstrap, own in ((east, "west"), (west, "east")):
        own_topics = (".internal", ".positions", ".dead")
        copies = {name for name in topics_of(bootstrap) if "." in name and not name.endswith(own_topics)}
        assert copies <= {f"{own}.orders", f"{own}.orders-later", f"{own}.heartbeats"}


def test_the_same_names_on_both_sides(sides: Sides) -> None:
    east, west = sides.east, sides.west
    create(east, "orders", 2, retention_ms="86400000")
    produce(east, "orders", [f"e{n}" for n in range(1000)])
    sides.mirror("--both", "--same-names", "--topics", "orders")
    has_values(west, "orders", [f"e{n}" for n in range(1000)])
    assert _settings(west, "orders")["retention.ms"] == "86400000"
    produce(west, "orders", [f"w{n}" for n in range(1000)])
    produce(east, "orders", [f"f{n}" for n in range(100)])
    wanted = [*(f"e{n}" for n in range(1000)), *(f"w{n}" for n in range(1000)), *(f"f{n}" for n in range(100))]
    has_values(east, "orders", wanted)
    has_values(west, "orders", wanted)
    origins = {
        (dict(message.headers() or {}).get("barnabas.mirror.origin"), (message.value() or b"")[:1])
        for message in all_records(west, "orders")
    }
    assert origins == {(b"east", b"e"), (b"east", b"f"), (None, b"w")}
    # Heartbeats go on for seconds: had a record come back, a topic would have too many by now.
    until(lambda: len(all_records(east, "west.heartbeats")) >= 3, "time passes")
    has_values(east, "orders", wanted)
    has_values(west, "orders", wanted)


def test_beside_a_node_and_on_request(tmp_path: Path) -> None:
    """`up --mirror FILE`; status, pause and resume."""
    east, west = BarnabasNode(tmp_path / "east", FAST), BarnabasNode(tmp_path / "west", FAST)
    file = tmp_path / "mirror.yaml"
    file.write_text(
        f"clusters:\n  east: {{bootstrap: '{east.bootstrap}'}}\n  west: {{bootstrap: '{west.bootstrap}'}}\n"
        "flows: [east->west]\ntopics: [orders]\n"
    )
    west.command += ["--mirror", str(file)]
    with east, west:
        create(east.bootstrap, "orders", 1)
        produce(east.bootstrap, "orders", ["one"])
        has_values(west.bootstrap, "east.orders", ["one"])
        until(lambda: status_of([str(file)])[0]["state"] == "running", "it has told that it runs")
        [found] = status_of([str(file)])
        rows = {(row["topic"], row["partition"]): row for row in found["partitions"]}
        assert rows["orders", 0]["offset"] == 1 and rows["orders", 0]["lag"] == 0
        assert set(rows) <= {("orders", 0), ("heartbeats", 0)}  # that one comes a moment later
        barnabas("mirror", "pause", str(file))
        until(lambda: status_of([str(file)])[0]["workers"] == 0, "it is paused")
        produce(east.bootstrap, "orders", ["two"])
        has_values(west.bootstrap, "east.orders", ["one"])
        barnabas("mirror", "resume", str(file))
        has_values(west.bootstrap, "east.orders", ["one", "two"])
        until(lambda: status_of([str(file)])[0]["state"] == "running", "it has told that it runs again")
        table = barnabas("mirror", "status", str(file))
        assert "east -> west" in table and "read again" in table
    assert "Traceback" not in west.log_path.read_text()


def test_a_paused_mirror_stays_so_over_a_restart(sides: Sides) -> None:
    """Only the flow that was paused, and the new process says how it goes on."""
    east, west = sides.east, sides.west
    create(east, "orders", 1)
    create(west, "views", 1)
    first = sides.mirror("--both", "--topics", "orders|views")
    produce(east, "orders", ["one"])
    has_values(west, "east.orders", ["one"])
    told = barnabas("mirror", "pause", *sides.words)
    resume = f"barnabas mirror resume {' '.join(sides.words)}"
    assert told == f"mirror-east-west: paused. On again: {resume}\n"
    until(lambda: sides.status("east")["workers"] == 0, "it is paused")
    first.stop()

    again = sides.mirror("--both", "--topics", "orders|views")
    produce(east, "orders", ["two"])
    produce(west, "views", ["other way"])
    has_values(east, "west.views", ["other way"])
    assert sides.status("east")["state"] == "paused"
    shown = barnabas("mirror", "status", *sides.words, code=1)
    assert f"paused. On again: {resume}\n" in shown
    has_values(west, "east.orders", ["one"])
    log = again.log_path.read_text()
    assert "east -> west (paused)" in log and f"nothing is copied. To go on: {resume}\n" in log
    assert "west -> east (paused)" not in log
    assert barnabas(*resume.split()[1:]) == "mirror-east-west: running\n"
    has_values(west, "east.orders", ["one", "two"])


def test_one_cluster_under_two_names_is_refused(sides: Sides) -> None:
    port = sides.east.rpartition(":")[2]
    words = [f"east={sides.east}", f"west=localhost:{port}"]
    mirror = MirrorProcess(sides.folder / "wrong.log", *words)
    try:
        mirror.launch()
        until(lambda: b"are the same cluster" in mirror.log_path.read_bytes(), "it is said")
    finally:
        mirror.stop()
    assert "Traceback" not in mirror.log_path.read_text()
