"""No command ends in a traceback: whatever is wrong becomes one line on stderr and an exit code."""

import socket
from pathlib import Path

import pytest

from barnabas.cli.main import main

_CLUSTERS = "clusters: {east: {bootstrap: 'a:1'}, west: {bootstrap: 'b:1'}}\n"


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address where nobody listens, and no patience."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("BARNABAS_BOOTSTRAP", f"127.0.0.1:{port}")
    monkeypatch.setattr("barnabas.cli.common.link.CONNECT_TIMEOUT_S", 0.1)
    monkeypatch.delenv("BARNABAS_TRACE", raising=False)


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("barnabas: ")
    assert captured.err.count("\n") == 1, captured.err
    assert "Traceback" not in captured.err
    return captured.err


USAGE = [
    "nonsense",
    "topic nonsense",
    "topic create",
    "topic create x --partitions many",
    "topic create x --partitions 0",
    "topic create x --set nothing",
    "topic alter x",
    "topic grow x none",
    "consume",
    "consume x --format xml",
    "consume x --from whenever",
    "consume x --to whenever",
    "consume x --follow --to end",
    "consume x --group g --partition 0",
    "consume x --group g --from 1200",
    "consume x -n 0",
    "produce",
    "produce x --compression brotli",
    "produce x --acks 7",
    "produce x --partitioner best",
    "produce x --json --key-separator :",
    "produce x --header nothing",
    "group reset g",
    "txn describe",
    "txn list --longer-than soon",
    "txn list --longer-than -5m",
    "txn find-hanging --longer-than 5",
    "txn find-hanging --partition 0",
    "txn abort",
    "txn abort x --topic t --partition 0 --start-offset 0",
    "txn abort --topic t --partition 0",
    "link create",
    "link create bad! --from h:1",
    "link create e --from h:port",
    "link create e --from http://h:1",
    "link create e --from h:1 --topics (",
    "link create e --from h:1 --topics a{1,3}",
    "link create e --from h:1 --topics=",
    "link create e --from h:1 --groups *",
    "link create e --from h:1 --groups g --no-groups",
    "link create e --from h:1 --rate fast",
    "link throttle e fast",
    "link throttle e 10MB/h",
    "link promote e --topics (",
    "link promote e --wait soon",
    "link promote e --now",
    "link verify e --topics [",
    "link verify e --from h:port",
    "link reverse e --from h:port --yes",
    "link status",
    "mirror run",
    "mirror run east=h:1",
    "mirror run east=h:1 west",
    "mirror run east=h:1 west=h:port",
    "mirror run east=h:1 west=h:1",
    "mirror run ea.st=h:1 west=h:2",
    "mirror run east=h:1 west=h:2 --topics (",
    "mirror run east=h:1 west=h:2 --groups (?=x)",
    "mirror run east=h:1 west=h:2 --groups g --no-groups",
    "mirror status east=h:1",
    "mirror pause east=h:1 east=h:2",
    "mirror resume east=h:1 west=",
    "mirror remove east=h:1 west=h:port --yes",
    "config list planet mars",
    "config list node mars",
    "config set topic x nothing",
    "log dump",
    "demo --seconds -1",
    "up --port 99999999",
    "up --port 70000",
    "up --nodes 0",
    "up --nodes 3 --port 65534",
    "up --nodes 2 --zone a,b,c",
    "up --nodes 3 --zone a,b,c,d --witness",
    "up --nodes 3 --zone a,,b",
    "up --data=",
    "up --set nothing",
    "up --advertise nohost",
    "up --log-level loud",
    "--nonsense",
]  # fmt: skip


@pytest.mark.parametrize("line", USAGE)
def test_used_wrongly(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    one_line(capsys)


NOBODY_THERE = [
    "topic create x",
    "topic list",
    "topic list --json",
    "topic describe x",
    "topic alter x --set a=1",
    "topic grow x 2",
    "topic delete x --yes",
    "consume x",
    "consume x --group g",
    "group list",
    "group describe g",
    "group reset g --topic x --to end --yes",
    "group delete g --yes",
    "txn list",
    "txn list --json",
    "txn describe x",
    "txn producers x",
    "txn find-hanging",
    "txn abort x --yes",
    "txn abort --topic t --partition 0 --start-offset 0 --yes",
    "config list topic x",
    "config get topic x retention.ms",
    "config set topic x retention.ms=1",
    "config delete topic x retention.ms",
    "config append topic x cleanup.policy=compact",
    "config subtract topic x cleanup.policy=compact",
    "link create e --from h:1",
    "link list",
    "link status e",
    "link pause e",
    "link promote e",
    "link verify e",
    "link reverse e --yes",
    "link delete e",
]  # fmt: skip


@pytest.mark.parametrize("line", NOBODY_THERE)
def test_nobody_there(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 1
    said = one_line(capsys)
    assert "cannot reach 127.0.0.1:" in said
    assert "barnabas up" in said


def test_a_bad_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topic", "list", "-b", "127.0.0.1:port"]) == 1
    assert "is not a port" in one_line(capsys)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("clusters:\n  east: {bootstrap: 'a:1'\n  west: {}\n", "mirror.yaml, line 3, column 3: no valid YAML"),
        ("clusters:\n\teast: 1\n", "mirror.yaml, line 2, column 1: no valid YAML"),
        ("a: 1\nbc: \x01\n", r"mirror.yaml, line 2, column 5: no valid YAML: the character '\x01' may not be in it"),
        ("a: &x 1\nb: *x\n", "mirror.yaml: aliases"),
        (f"{_CLUSTERS}flows: 5\n", "flows is a list"),
        (f"{_CLUSTERS}topics: ['*x']\n", "'*x' is no regular expression: * has nothing before it to repeat"),
        (f"{_CLUSTERS}groups: ['(a']\n", "'(a' is no regular expression: a ( is not closed"),
        (f"{_CLUSTERS}start: never\n", "'start'"),
        ("clusters: {east: {bootstrap: 'a:1'}, west: {bootstrap: 'b:x'}}\n", "cluster 'west'"),
    ],
)
@pytest.mark.parametrize("command", ["mirror run", "mirror status", "up --port 0 --mirror", "up --nodes 2 --mirror"])
def test_a_file_of_a_mirror_that_cannot_be_right(
    text: str, said: str, command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Before anything is started."""
    file = tmp_path / "mirror.yaml"
    file.write_text(text)
    more = ["--data", str(tmp_path / "data")] if command.startswith("up") else []
    assert main([*command.split(), str(file), *more]) == 2
    assert said in one_line(capsys)
    assert not (tmp_path / "data").exists()


def test_files_that_are_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["produce", "x", str(tmp_path / "none.txt")]) == 1
    assert "none.txt" in one_line(capsys)
    assert main(["produce", "x", str(tmp_path)]) == 1
    assert "folder" in one_line(capsys)
    assert main(["log", "dump", str(tmp_path / "none.log")]) == 1
    assert "there is no file" in one_line(capsys)
    assert main(["log", "dump", str(tmp_path)]) == 1
    assert "no files of a log" in one_line(capsys)
    assert main(["mirror", "run", str(tmp_path / "none.yaml")]) == 1
    assert "none.yaml" in one_line(capsys)
    assert main(["up", "--mirror", str(tmp_path / "none.yaml")]) == 1
    assert "none.yaml" in one_line(capsys)
    assert main(["up", "--config", str(tmp_path / "none.toml")]) == 1
    assert "none.toml" in one_line(capsys)


def test_a_folder_that_does_not_fit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=aaaaaaaaaaaaaaaaaaaaaa\nnode.id=1\n")
    assert main(["up", "--port", "0", "--data", str(tmp_path), "--set", "node.id=2"]) == 1
    said = one_line(capsys)
    assert "belongs to node 1, not 2" in said
    assert "stop what uses" not in said


@pytest.mark.parametrize(
    ("said", "way_out"),
    [
        ("Local: Unknown partition", "barnabas topic grow copy N"),
        ("Broker: Invalid topic", "letters, digits"),
        ("Broker: Message size too large", "config set topic copy max.message.bytes=N"),
        ("Local: Message timed out", ""),
    ],
)
def test_what_did_not_arrive_has_a_way_out(said: str, way_out: str) -> None:
    from barnabas.cli.produce.command import _way_out

    assert way_out in _way_out(said, "copy")
    assert bool(_way_out(said, "copy")) == bool(way_out)


def test_ctrl_c_is_quiet(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("barnabas.cli.main._run", interrupt)
    assert main(["topic", "list"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_bug_is_one_line_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(_: list[str]) -> int:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("barnabas.cli.main._run", bug)
    assert main(["topic", "list"]) == 1
    assert "ZeroDivisionError: oh" in one_line(capsys)
    monkeypatch.setenv("BARNABAS_TRACE", "1")
    with pytest.raises(ZeroDivisionError):
        main(["topic", "list"])


def test_questions_are_not_asked_into_the_dark(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from barnabas.cli.common.failure import Failure
    from barnabas.cli.common.options import confirm

    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(Failure, match="Nobody is here"):
        confirm("Delete everything?", yes=False)
    confirm("Delete everything?", yes=True)
