"""Each sink, run by a worker, while its target is down, slow, full, or does not take the password: one line in
`connect status` and in the log, pauses that grow, and on again with nothing lost."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.connect.faults.flow import Flow, SlowLine, empty, fill, small_disk
from tests.connect.faults.targets import FIRST, SECOND, TARGETS, OpensearchTarget
from tests.support.connect import running
from tests.support.servers import BarnabasNode

pytestmark = pytest.mark.long
SERVERS = ["postgres", "s3", "opensearch", "jms", "mqtt", "http", "kafka"]
LOGINS = ["postgres", "s3", "opensearch", "jms", "mqtt", "http"]
DISKS = {"postgres": 40 << 20, "duckdb": 16 << 20, "files": 4 << 20, "s3": 8 << 20, "http": 32 << 20, "kafka": 64 << 20}
FULL = {
    "postgres": "No space left on device",
    "duckdb": "No space left on device",
    "files": "No space left on device",
    "s3": "",
    "http": "answers 5",
    "kafka": "",
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode]:
    with BarnabasNode(tmp_path_factory.mktemp("node")) as server:
        assert isinstance(server, BarnabasNode)
        yield server


@pytest.fixture
def disk() -> Iterator[Path]:
    """Not in pytest's tmp_path: PostgreSQL does not run as root, and has to come to it."""
    folder = Path(tempfile.mkdtemp(prefix="barnabas-disk-"))
    folder.chmod(0o755)
    yield folder / "disk"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("kind", SERVERS)
def test_down(node: BarnabasNode, tmp_path: Path, disk: Path, kind: str) -> None:
    outage(node, tmp_path, disk, kind, 3)


@pytest.mark.parametrize("kind", SERVERS)
def test_down_for_a_minute(node: BarnabasNode, tmp_path: Path, disk: Path, kind: str) -> None:
    outage(node, tmp_path, disk, kind, 60)


def outage(node: BarnabasNode, folder: Path, disk: Path, kind: str, seconds: float) -> None:
    target = TARGETS[kind](folder / "target", disk)
    flow = Flow(node, folder, f"down-{kind}-{seconds}", target)
    try:
        flow.send(50)
        with running(flow.worker):
            flow.arrives()
            target.stop()
            flow.send(50)
            flow.waits(target.unreachable)
            time.sleep(seconds)
            assert flow.state()[0] == "waiting"
            assert flow.log("Trying again") < 10  # said when it changes, not each time
            target.start()
            flow.send(50)
            flow.arrives()
            flow.runs()
        assert flow.dead() == 0
    finally:
        target.close()


@pytest.mark.parametrize("kind", ["postgres", "s3", "opensearch", "jms", "mqtt", "http"])
def test_slow(node: BarnabasNode, tmp_path: Path, disk: Path, kind: str) -> None:
    """50 kB a second, and each piece 20 ms late: half a minute's worth for the largest of these batches."""
    target = TARGETS[kind](tmp_path / "target", disk)
    line = SlowLine(target.port, 50_000, 0.02)
    target.via = line.port
    flow = Flow(node, tmp_path, f"slow-{kind}", target)
    try:
        flow.send(200, 2000)
        with running(flow.worker):
            flow.arrives()
            flow.send(50, 2000)
            flow.arrives()
        assert flow.dead() == 0
    finally:
        line.close()
        target.close()


@pytest.mark.parametrize("kind", list(DISKS))
def test_full(node: BarnabasNode, tmp_path: Path, disk: Path, kind: str) -> None:
    with ExitStack() as stack:
        stack.enter_context(small_disk(disk, DISKS[kind]))
        target = TARGETS[kind](tmp_path / "target", disk)
        stack.callback(target.close)
        flow = Flow(node, tmp_path, f"full-{kind}", target)
        flow.send(50)
        with running(flow.worker):
            flow.arrives()
            fill(disk)
            flow.send(2000, 1000)
            flow.waits(FULL[kind])
            empty(disk)
            flow.arrives()
            flow.runs()
        assert flow.dead() == 0


def test_full_by_the_watermark(node: BarnabasNode, tmp_path: Path, disk: Path) -> None:
    target = OpensearchTarget(tmp_path / "target", disk)
    flow = Flow(node, tmp_path, "full-opensearch", target)
    try:
        flow.send(50)
        with running(flow.worker):
            flow.arrives()
            target.block(True)
            flow.send(50)
            flow.waits("flood-stage watermark")
            target.block(False)
            flow.arrives()
            flow.runs()
        assert flow.dead() == 0
    finally:
        target.close()


@pytest.mark.parametrize("kind", LOGINS)
def test_passwords(node: BarnabasNode, tmp_path: Path, disk: Path, kind: str) -> None:
    """Wrong at the start, then another one while it runs, each mended in the file; and by a restart."""
    target = TARGETS[kind](tmp_path / "target", disk)
    target.secret.write_text("wrong-of-the-tests")
    flow = Flow(node, tmp_path, f"login-{kind}", target)
    try:
        flow.send(50)
        with running(flow.worker):
            line = flow.waits(target.refused)
            target.secret.write_text(FIRST)
            flow.arrives()
            target.rotate(SECOND)
            flow.send(50)
            line += flow.waits(target.refused)
            target.secret.write_text(SECOND)
            flow.arrives()
            flow.runs()
            flow.restart()
            flow.send(50)
            flow.arrives()
        assert flow.dead() == 0
        told = line + flow.worker.log_path.read_text()
        assert not any(each in told for each in (FIRST, SECOND, "wrong-of-the-tests"))
    finally:
        target.close()
