"""The files: Kafka's own dump tool reads every kind we write, and we read a folder that Apache Kafka wrote."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.core.cluster.record_codec import decode_record
from barnabas.storage.config import LogConfig
from barnabas.storage.log import Log
from barnabas.wire.batch import BatchHeader, iter_batches
from barnabas.wire.records import Record, build_batch, iter_records
from tests.support.java import DUMP_LOG, JavaTools
from tests.support.members import QUIET, write
from tests.support.servers import BarnabasNode, KafkaNode
from tests.support.wire import WireClient, await_group_coordinator

pytestmark = [pytest.mark.timeout(120), pytest.mark.xdist_group("files")]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PER_CODEC = 400


def commit_patiently(consumer: Consumer, offset: TopicPartition) -> None:
    """The first commit of a young Apache Kafka may come before its coordinators are ready."""
    deadline = time.monotonic() + 30
    while True:
        try:
            consumer.commit(offsets=[offset], asynchronous=False)
            return
        except KafkaException as error:
            young = error.args[0].code() in (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE)
            if not young or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def fill(bootstrap: str) -> None:
    """One partition, every codec, an idempotent producer, small segments; and a group's offsets."""
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    # the smallest Kafka allows is a mebibyte
    config = {"segment.bytes": str(1 << 20), "index.interval.bytes": "1000", "max.message.bytes": "100000"}
    admin.create_topics([NewTopic("filled", 1, 1, config=config)])["filled"].result(20)
    number = 0
    for codec in CODECS:
        producer = Producer(
            {
                **QUIET,
                "bootstrap.servers": bootstrap,
                "enable.idempotence": codec != "gzip",
                "compression.codec": codec,
                "batch.num.messages": 20,
                "linger.ms": 20,
            }
        )
        for _ in range(PER_CODEC):
            # five bytes of six are not compressible, so that segments roll in every codec
            noise = b"".join(((number * 2654435761 + k * 40503) & 0xFFFFFFFF).to_bytes(4, "big") for k in range(150))
            producer.produce(
                "filled",
                b"%06d" % number + noise,
                b"key-%d" % (number % 10),
                timestamp=1_700_000_000_000 + number * 1000,
                headers=[("n", b"%d" % number)],
            )
            number += 1
        assert producer.flush(30) == 0
    with WireClient(bootstrap) as client:
        await_group_coordinator(client, "readers")
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": "readers"})
    commit_patiently(consumer, TopicPartition("filled", 0, 123, metadata="half way"))
    consumer.close()


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of a node of ours, stopped cleanly."""
    node = BarnabasNode(tmp_path_factory.mktemp("ours"), {"group.initial.rebalance.delay.ms": "0"})
    try:
        node.start()
        fill(node.bootstrap)
        assert node.stop() == 0, node.tail()
        yield node.data
    finally:
        node.stop()


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of an Apache Kafka, stopped cleanly."""
    node = KafkaNode(tmp_path_factory.mktemp("theirs"), {"group.initial.rebalance.delay.ms": "0"})
    try:
        node.start()
        fill(node.bootstrap)
        node.stop()
        yield node.data
    finally:
        node.stop()


def test_the_log_dumps(ours: Path, java: JavaTools) -> None:
    logs = sorted((ours / "filled-0").glob("*.log"))
    assert len(logs) >= 2, "segments did not roll"
    out = java.run(DUMP_LOG, "--deep-iteration", "--print-data-log", "--files", ",".join(map(str, logs))).out
    offsets = [int(o) for o in re.findall(r"^\| offset: (\d+)", out, re.M)]
    assert offsets == list(range(len(CODECS) * PER_CODEC))
    keys = re.findall(r" key: (\S+) payload: (\d{6})", out)
    assert [int(n) for _, n in keys] == offsets
    codecs = re.findall(r"compresscodec: (\w+)", out)
    assert set(codecs) == set(CODECS)
    assert "isvalid: false" not in out
    for log in logs:
        assert f"Log starting offset: {int(log.stem)}" in out


def test_the_indexes_dump(ours: Path, java: JavaTools) -> None:
    """The tool reads the log beside each index and names every entry that does not fit."""
    for kind in ("index", "timeindex"):
        files = sorted((ours / "filled-0").glob(f"*.{kind}"))
        assert files
        out = java.run(DUMP_LOG, "--files", ",".join(map(str, files))).out
        assert len(re.findall(r"^(offset|timestamp): ", out, re.M)) > 5, out[:500]
        assert "Mismatches" not in out, out[-800:]
        assert "Found timestamp mismatch" not in out, out[-800:]
        assert "out of order" not in out, out[-800:]
        sane = java.run(DUMP_LOG, "--index-sanity-check", "--files", ",".join(map(str, files))).out
        assert sane.count("passed sanity check") == len(files), sane


def test_the_producer_snapshots_dump(ours: Path, java: JavaTools) -> None:
    files = sorted((ours / "filled-0").glob("*.snapshot"))
    assert files
    out = java.run(DUMP_LOG, "--files", str(files[-1])).out
    found = re.findall(r"producerId: (\d+) producerEpoch: (\d+)", out)
    assert len(found) == 4, out  # four of the five producers were idempotent
    assert "not valid" not in out.lower()


def test_the_offsets_dump(ours: Path, java: JavaTools) -> None:
    """With Kafka's own decoder for __consumer_offsets."""
    logs = [log for log in sorted(ours.glob("__consumer_offsets-*/*.log")) if log.stat().st_size]
    out = java.run(DUMP_LOG, "--offsets-decoder", "--files", ",".join(map(str, logs))).out
    keys = [json.loads(k) for k in re.findall(r"key: (\{.*?\}) payload", out)]
    assert any(k["data"].get("group") == "readers" and k["data"].get("topic") == "filled" for k in keys), out[-1500:]
    assert '"metadata":"half way' in out
    assert '"offset":123' in out


def test_the_metadata_log_dumps(ours: Path, java: JavaTools) -> None:
    """With Kafka's own decoder for __cluster_metadata."""
    logs = sorted((ours / "__cluster_metadata-0").glob("*.log"))
    assert logs
    out = java.run(DUMP_LOG, "--cluster-metadata-decoder", "--files", ",".join(map(str, logs))).out
    assert len(re.findall(r"^\| offset: ", out, re.M)) > 2
    assert '"type":"TOPIC_RECORD","version":0,"data":{"name":"filled"' in out, out[-2000:]
    assert "isvalid: false" not in out


def test_a_node_goes_on_with_a_metadata_log_in_json(ours: Path, tmp_path: Path) -> None:
    """As earlier builds wrote it, the whole folder; what comes after it is Kafka's."""
    node = BarnabasNode(tmp_path, {"group.initial.rebalance.delay.ms": "0"})
    shutil.copytree(ours, node.data)
    written = in_json(node.data / "__cluster_metadata-0")
    assert written > 5
    try:
        node.start()
        admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
        admin.create_topics([NewTopic("after", 2, 1)])["after"].result(20)
        assert node.stop() == 0, node.tail()
        node.start()
        found = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap}).list_topics(timeout=20).topics
        assert {"filled", "after"} <= set(found) and len(found["after"].partitions) == 2
    finally:
        node.stop()
    values = [r.value or b"" for _, batch in metadata_batches(node.data / "__cluster_metadata-0") for r in batch]
    assert any(v.startswith(b"{") for v in values) and any(v.startswith(b"\1") for v in values)


def metadata_batches(folder: Path) -> Iterator[tuple[BatchHeader, list[Record]]]:
    for log in sorted(folder.glob("*.log")):
        data = log.read_bytes()
        for position, header in iter_batches(data):
            if not header.is_control:
                yield header, list(iter_records(data[position : position + header.size]))


def in_json(folder: Path) -> int:
    """Rewrite every metadata record as the earlier encoder wrote it; gives how many there were."""
    count = 0
    for log in sorted(folder.glob("*.log")):
        data, whole = log.read_bytes(), bytearray()
        for position, header in iter_batches(data):
            batch = data[position : position + header.size]
            if not header.is_control:
                records = [
                    r._replace(value=msgspec.json.encode(decode_record(r.value or b""))) for r in iter_records(batch)
                ]
                count += len(records)
                batch = bytes(build_batch(records, leader_epoch=header.leader_epoch))
            whole += batch
        log.write_bytes(whole)
    for index in [*folder.glob("*.index"), *folder.glob("*.timeindex")]:  # positions changed: they are made again
        index.unlink()
    return count


def test_the_epochs_are_kafkas_text(ours: Path) -> None:
    assert (ours / "filled-0" / "leader-epoch-checkpoint").read_text().split() == ["0", "1", "0", "0"]
    assert "topic_id: " in (ours / "filled-0" / "partition.metadata").read_text()


@pytest.mark.parametrize("state", ["clean", "unclean", "without indexes"])
def test_we_read_a_folder_of_apache_kafka(theirs: Path, tmp_path: Path, state: str) -> None:
    folder = tmp_path / "filled-0"
    shutil.copytree(theirs / "filled-0", folder)
    if state == "without indexes":
        for file in [*folder.glob("*.index"), *folder.glob("*.timeindex")]:
            file.unlink()
    config = LogConfig(segment_bytes=1 << 20, index_interval_bytes=1000, max_message_bytes=100000)
    log = Log.open(folder, config, clean=state == "clean", recovery_point=0)
    try:
        count = len(CODECS) * PER_CODEC
        assert (log.log_start_offset, log.log_end_offset) == (0, count)
        seen, offset = [], 0
        while offset < log.log_end_offset:
            data = log.read(offset, 1 << 20, log.log_end_offset).read()
            at = 0
            while at + 61 <= len(data):
                size = int.from_bytes(data[at + 8 : at + 12], "big") + 12
                if at + size > len(data):
                    break
                seen += [r for r in iter_records(data[at : at + size]) if r.offset >= offset]
                at += size
            offset = seen[-1].offset + 1
        assert [r.offset for r in seen] == list(range(count))
        assert [int((r.value or b"")[:6]) for r in seen] == list(range(count))
        assert all(r.headers == (("n", b"%d" % n),) and r.key == b"key-%d" % (n % 10) for n, r in enumerate(seen))
        for n in (0, 1, 777, count - 1):
            found = log.offset_for_timestamp(1_700_000_000_000 + n * 1000)
            assert found is not None
            assert found[:2] == (1_700_000_000_000 + n * 1000, n)
        assert log.offset_for_timestamp(1_700_000_000_000 + count * 1000) is None
        _, producers = log.load_producers()
        if state == "clean":
            assert len({p.producer_id for p in producers}) == 4
    finally:
        log.close()


def test_apache_kafka_dumps_what_we_appended_to_its_folder(theirs: Path, tmp_path: Path, java: JavaTools) -> None:
    """Both ways: we go on where Kafka stopped, and its tool reads the whole."""
    from barnabas.wire.batch import read_header

    folder = tmp_path / "filled-0"
    shutil.copytree(theirs / "filled-0", folder)
    log = Log.open(folder, LogConfig(segment_bytes=1 << 20, index_interval_bytes=1000), clean=True, recovery_point=0)
    end = log.log_end_offset
    for i in range(10):
        data = build_batch([Record(end + i, 1_800_000_000_000 + i, b"k", b"ours", ())], leader_epoch=1)
        header = read_header(data)
        log.append(
            data,
            base_offset=end + i,
            last_offset=end + i,
            max_timestamp=header.max_timestamp,
            record_count=1,
            leader_epoch=1,
        )
    log.close()
    logs = ",".join(map(str, sorted(folder.glob("*.log"))))
    out = java.run(DUMP_LOG, "--deep-iteration", "--files", logs).out
    assert [int(o) for o in re.findall(r"^\| offset: (\d+)", out, re.M)] == list(range(end + 10))
    assert "isvalid: false" not in out


def test_a_live_node_writes_files_that_dump(
    server: BarnabasNode | KafkaNode | None, bootstrap: str, java: JavaTools, topic: str
) -> None:
    """While it runs: the tool sees whole batches at any time."""
    if server is None:
        pytest.skip("somebody else's server: its files are not at hand")
    write(bootstrap, topic, [b"%d" % i for i in range(1000)], **{"batch.num.messages": 10})
    out = java.run(
        DUMP_LOG, "--deep-iteration", "--files", str(server.data / f"{topic}-0" / "00000000000000000000.log")
    ).out
    assert len(re.findall(r"^\| offset: ", out, re.M)) == 1000
