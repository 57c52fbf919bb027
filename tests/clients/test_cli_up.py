"""`barnabas up` and `barnabas demo` as processes: what they print, how they end, what they say if they cannot start."""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.process import free_port

EXECUTABLE = Path(sys.executable).with_name("barnabas")
WAIT_S = 60

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start("--port", "0")`: a node of its own; whatever still runs at the end is ended."""
    running: list[subprocess.Popen[str]] = []

    def up(*words: str, data: str = "data", through: Sequence[str] = ()) -> subprocess.Popen[str]:
        command: list[str | Path] = [*through, EXECUTABLE, "up", "--data", str(tmp_path / data), *words]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("BARNABAS_")}
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        running.append(child)
        return child

    yield up
    for child in running:
        if child.poll() is None:
            child.kill()
        child.communicate()


def address(node: subprocess.Popen[str]) -> str:
    assert node.stdout is not None
    line = node.stdout.readline().strip()
    assert line.startswith("127.0.0.1:"), (line, node.communicate())
    return line


def refusal(node: subprocess.Popen[str]) -> str:
    """The one line of a node that did not start."""
    out, err = node.communicate(timeout=WAIT_S)
    assert node.returncode == 1, (out, err)
    assert out == ""
    assert err.startswith("barnabas: ") and err.count("\n") == 1, err
    return err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_and_stops_cleanly(start: Start, number: signal.Signals, tmp_path: Path) -> None:
    node = start("--port", "0")
    assert node.stdout is not None
    said = node.stdout.readline()
    assert "is up on 127.0.0.1:" in said and "ready in" in said
    node.send_signal(number)
    out, err = node.communicate(timeout=WAIT_S)
    assert node.returncode == 0
    assert all(" INFO " in line for line in err.splitlines()), err
    assert out.splitlines()[-1].startswith("stopped cleanly in ")
    assert "barnabas produce" not in out, "the first steps are for a terminal, not for a journal"
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_a_terminal_is_shown_the_first_steps(tmp_path: Path) -> None:
    ours, its = pty.openpty()
    node = subprocess.Popen([EXECUTABLE, "up", "--port", "0", "--data", tmp_path / "data"], stdout=its, stderr=its)
    os.close(its)
    try:
        said = b""
        while b"Ctrl-C" not in said:
            said += os.read(ours, 4096)
        said = re.sub(rb"\x1b\[\d*m", b"", said)
        assert b"INFO" not in said
        for step in (b"is up on 127.0.0.1:", b"barnabas produce", b"barnabas consume", b"python -c"):
            assert step in said
        node.send_signal(signal.SIGINT)
        assert node.wait(WAIT_S) == 0
    finally:
        os.close(ours)
        if node.poll() is None:
            node.kill()
            node.wait()


def test_quiet_prints_the_address_alone_and_the_steps_work(start: Start) -> None:
    bootstrap = address(start("--port", "0", "--quiet"))
    environment = {**os.environ, "BARNABAS_BOOTSTRAP": bootstrap}
    subprocess.run(
        [EXECUTABLE, "produce", "greetings"], input=b"hello\n", env=environment, check=True, capture_output=True
    )
    step = f'from barnabas import Producer; Producer(bootstrap="{bootstrap}").send("greetings", "hi")'
    subprocess.run([sys.executable, "-c", step], check=True, timeout=WAIT_S)
    consumed = subprocess.run([EXECUTABLE, "consume", "greetings"], env=environment, check=True, capture_output=True)
    assert consumed.stdout == b"hello\nhi\n"


def test_a_secured_node_says_how_to_connect_and_is_not_opened_by_mistake(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    node = start("--port", "0", "--secure")
    assert node.stdout is not None
    said = ""
    while "barnabas user create" not in said:  # the last of what it prints
        line = node.stdout.readline()
        assert line, node.communicate()
        said += line
    assert "secured: TLS, logins by SCRAM, access denied unless a rule allows it" in said
    command = re.search(r"barnabas (topic list -b \S+)   # finds the admin by itself", said)
    assert command is not None
    listed = subprocess.run([EXECUTABLE, *command[1].split()], capture_output=True, text=True, timeout=WAIT_S)
    assert listed.returncode == 0, listed.stderr
    assert {each.stat().st_mode & 0o077 for each in (tmp_path / "data").rglob("*")} == {0}, "for this user only"
    node.send_signal(signal.SIGTERM)
    assert node.wait(WAIT_S) == 0
    assert "belongs to a secured node. Start it with --secure, as the first time." in refusal(start("--port", "0"))


def test_a_controller_alone_does_not_pass_for_a_broker(start: Start) -> None:
    own = f"127.0.0.1:{free_port()}"
    settings = {"process.roles": "controller", "node.id": "3000", "controller.quorum.voters": f"3000@{own}"}
    settings |= {"controller.listener.names": "CONTROLLER", "listeners": f"CONTROLLER://{own}"}
    node = start(*[word for name, value in settings.items() for word in ("--set", f"{name}={value}")])
    assert node.stdout is not None
    assert "is up as a controller, which clients do not speak to" in node.stdout.readline()


def test_a_taken_port(start: Start) -> None:
    with socket.socket() as owner:
        owner.bind(("127.0.0.1", 0))
        owner.listen()
        port = str(owner.getsockname()[1])
        said = refusal(start("--port", port))
    assert f"port {port}" in said and "--port 0" in said


def test_a_folder_in_use(start: Start, tmp_path: Path) -> None:
    address(start("--port", "0", "--quiet"))
    said = refusal(start("--port", "0"))
    assert str(tmp_path / "data") in said and "--data" in said


def test_a_file_where_the_folder_should_be(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "not a folder" in refusal(start("--port", "0", data="file"))
    refusal(start("--port", "0", data="file/below"))


def test_a_folder_that_cannot_be_written(start: Start, tmp_path: Path) -> None:
    """Root may write everywhere, so it gives that right up first."""
    (tmp_path / "locked").mkdir(mode=0o500)
    as_anybody = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    assert "permission denied" in refusal(start("--port", "0", data="locked/data", through=as_anybody))


def test_several_nodes_on_a_folder_that_cannot_be_written_say_so_once(start: Start, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    as_anybody = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    for data in ("locked", "locked/below"):
        assert "permission denied" in refusal(start("--port", "0", "--nodes", "3", data=data, through=as_anybody))


def test_a_folder_of_apache_kafka_is_refused_untouched(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "kafka"
    (folder / "__cluster_metadata-0").mkdir(parents=True)
    files = {
        "meta.properties": b"#\n#Mon Nov 16 10:00:00 UTC 2026\ncluster.id=abc\nnode.id=1\nversion=1\n",
        ".kafka_cleanshutdown": b'{"version":0,"brokerEpoch":7}',
        "bootstrap.checkpoint": b"\x00",
        "__cluster_metadata-0/quorum-state": b"{}",
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    assert "docs/moving-in.md" in refusal(start("--port", "0", data="kafka"))
    kept = {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    assert kept == files


def test_a_setting_that_asks_for_access_control_is_not_passed_over(start: Start, tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    standard = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    for lines, words in (
        ("authorizer.class.name=com.example.Mine", "com.example.Mine: no Java class can be loaded"),
        (f"{standard}\nsuper.users=admin", "'admin' is not TYPE:NAME, such as User:admin"),
    ):
        config.write_text(f"{lines}\n")
        assert words in refusal(start("--port", "0", "--config", str(config)))


def test_kafkas_own_file_of_a_single_node_founds_a_cluster(start: Start, tmp_path: Path) -> None:
    broker, controller = free_port(), free_port()
    config = tmp_path / "server.properties"
    config.write_text(
        "process.roles=broker,controller\nnode.id=1\n"
        f"controller.quorum.bootstrap.servers=localhost:{controller}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}\n"
        "controller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
    )
    assert address(start("--quiet", "--config", str(config))) == f"127.0.0.1:{broker}"


def test_settings_that_do_not_fit(start: Start, tmp_path: Path) -> None:
    config = tmp_path / "node.toml"
    config.write_text('log.segment.bytes = "many"\n')
    assert "node.toml:1" in refusal(start("--port", "0", "--config", str(config)))
    assert "num.partitions" in refusal(start("--port", "0", "--set", "num.partitions=many"))
    assert "is not an address" in refusal(start("--host", "192.0.2.1", "--port", "0"))


def test_settings_reach_the_node_and_a_wrong_name_in_a_file_is_a_warning(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partition=5\n")
    node = start("--port", "0", "--quiet", "--set", "num.partitions=4", "--config", str(file))
    bootstrap = address(node)
    words: list[str | Path] = [EXECUTABLE, "config", "get", "node", "1", "num.partitions", "-b", bootstrap]
    assert subprocess.run(words, check=True, capture_output=True, text=True).stdout == "4\n"
    node.terminate()
    _, err = node.communicate(timeout=WAIT_S)
    assert "did you mean num.partitions?" in err
    assert node.returncode == 0


def test_a_wrong_name_on_the_command_line_is_a_typing_error(start: Start) -> None:
    node = start("--port", "0", "--quiet", "--set", "num.partition=5")
    _, err = node.communicate(timeout=WAIT_S)
    assert node.returncode == 2
    assert "did you mean num.partitions?" in err


def test_the_demo_ends_by_itself_and_takes_another_port_when_its_own_is_taken(tmp_path: Path) -> None:
    with socket.socket() as owner:
        owner.bind(("127.0.0.1", 0))
        owner.listen()
        port = owner.getsockname()[1]
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        words: list[str | Path] = [EXECUTABLE, "demo", "--seconds", "5", "--port", str(port)]
        done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert f"port {port} is taken" in done.stdout
    assert "events written" in done.stdout and "stops now" in done.stdout and "from another terminal:" in done.stdout
    assert list(tmp_path.iterdir()) == [], "the demo left something behind"


def test_the_demo_goes_on_with_its_stream_when_spark_cannot_be_fetched(tmp_path: Path) -> None:
    pins = tmp_path / "pins"
    pins.mkdir()
    (pins / "run.txt").write_text(f"a-package-that-is-nowhere==1 --hash=sha256:{'0' * 64}\n")
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        index = f"http://127.0.0.1:{nobody.getsockname()[1]}/simple"
    env = {**os.environ, "PIP_INDEX_URL": index, "PIP_RETRIES": "1", "XDG_DATA_HOME": str(tmp_path), "NO_COLOR": "1"}
    words: list[str | Path] = [EXECUTABLE, "demo", "--seconds", "36", "--port", "0", "--requirements", pins]
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    seen = done.stdout.splitlines()
    told = "without the pipelines: Spark could not be fetched: the package index cannot be reached. "
    at = [number for number, line in enumerate(seen) if line.startswith(told)]
    assert len(at) == 2, "once when it failed, and in the summary"
    assert any(line.startswith("written ") for line in seen[at[0] : at[1]]), "the stream went on"
    assert (tmp_path / "barnabas" / "demo" / "fetching.log").read_text()
