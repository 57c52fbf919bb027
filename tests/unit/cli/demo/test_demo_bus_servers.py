"""How `barnabas demo bus` finds, fetches and starts its servers: with programs of the test in the place of the real
ones, which tests/connect/demo runs."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from barnabas import Admin, Consumer, Producer
from barnabas.cli.demo.bus.counting import ends
from barnabas.cli.demo.bus.counting.topics import TopicCount
from barnabas.cli.demo.bus.functions import anomalies, enrich
from barnabas.cli.demo.bus.servers import jars, java, mosquitto, opensearch, packages, postgres, s3proxy
from barnabas.cli.demo.bus.servers.jars import Jars
from barnabas.cli.demo.bus.servers.missing import Missing
from barnabas.cli.demo.bus.servers.mosquitto import Mosquitto
from barnabas.cli.demo.bus.servers.opensearch import OpenSearch
from barnabas.cli.demo.bus.servers.postgres import Postgres
from barnabas.cli.demo.bus.servers.s3proxy import S3Proxy
from barnabas.connect import Delivered
from barnabas.testing import RunningNode

SMALL = Jars("org.example", "thing", "1.0", 1)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the path, and an empty cache."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("BARNABAS_MAVEN_REPOSITORY", raising=False)
    return folder


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!{sys.executable} -IS\nimport sys\n{text}\n")
    path.chmod(0o755)
    return path


# --- jars ---------------------------------------------------------------------------------------------------------

MAVEN = """
import pathlib
folder = next(word for word in sys.argv if word.startswith("-DoutputDirectory=")).partition("=")[2]
pathlib.Path(folder).mkdir()
(pathlib.Path(folder) / "thing-1.0.jar").touch()
"""


def test_jars_are_fetched_once_and_kept(
    programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jars, "_ivy", lambda: None)
    program(programs, "mvn", MAVEN)
    folder = SMALL.get(programs / "java")
    assert [each.name for each in folder.iterdir()] == ["thing-1.0.jar"]
    assert "fetching thing 1.0, about 1 MB; this is done once ..." in capsys.readouterr().err
    (programs / "mvn").unlink()
    assert SMALL.get(programs / "java") == folder and capsys.readouterr().err == ""
    assert [each.name for each in folder.parent.iterdir()] == [folder.name], "nothing half done stays"


def test_a_fetch_that_fails_says_why_and_leaves_nothing(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_ivy", lambda: programs / "ivy.jar")
    program(programs, "mvn", "print('downloading'); print('[ERROR] connection refused'); sys.exit(1)")
    ivy = program(programs, "java", "print('unresolved dependency: thing: not found'); sys.exit(1)")
    with pytest.raises(Missing, match=r"thing 1\.0 could not be fetched: unresolved dependency: thing: not found"):
        SMALL.get(ivy)
    assert list(SMALL.folder.parent.iterdir()) == []
    with pytest.raises(Missing, match="could not be fetched"):
        Jars("org.example", "whole", "1.0", 1, "jar-with-dependencies").get(ivy)


def test_without_maven_and_pyspark(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_ivy", lambda: None)
    with pytest.raises(Missing, match=r"cannot be fetched without Maven or PySpark\. Install maven"):
        SMALL.get(programs / "java")


# --- programs -----------------------------------------------------------------------------------------------------


def test_a_package_is_installed_when_that_was_asked_for(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    log = programs / "log"
    refuses = f"open({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n'); sys.exit('install' in sys.argv)"
    program(programs, "apt-get", refuses)
    with pytest.raises(Missing, match=r"px could not be installed\. See why: apt-get install px"):
        packages.install("x", "px", allowed=True)
    told = [line.split()[3:] for line in log.read_text().splitlines()]
    assert told == [["install", "px"], ["update"], ["install", "px"]], "an old list of packages is renewed"
    program(programs, "apt-get", "")
    packages.install("x", "px", allowed=True)


def test_a_program_beside_the_path_is_found(programs: Path, tmp_path: Path) -> None:
    other = tmp_path / "sbin"
    other.mkdir()
    assert packages.find_program("mosquitto", [other]) is None
    found = program(other, "mosquitto", "")
    assert packages.find_program("mosquitto", [other]) == found
    assert packages.find_program("mosquitto", [other]) != program(programs, "mosquitto", "").parent


LISTENER = """
import socket, time
port = int(open(sys.argv[2]).read().split()[1])
with socket.create_server(("127.0.0.1", port)):
    time.sleep(60)
"""


def test_mosquitto_is_started_on_a_free_port_and_stopped(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mosquitto, "FOLDERS", ())
    program(programs, "mosquitto", LISTENER)
    server = Mosquitto(tmp_path / "work", may_install=False)
    server.prepare()
    server.launch()
    try:
        server.wait()
        assert server.address == f"mqtt://127.0.0.1:{server.port}" and server.took_s > 0
    finally:
        server.stop()
    assert server._process is not None and server._process._process.poll() is not None


def test_postgresql_is_found_in_its_newest_version(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "DEBIAN", tmp_path / "debian")
    for version in ("9.6", "15", "17"):
        folder = tmp_path / "debian" / version / "bin"
        folder.mkdir(parents=True)
        (folder / "initdb").touch()
        if version != "17":  # a client alone has no server
            (folder / "postgres").touch()
    assert postgres._programs() == tmp_path / "debian" / "15" / "bin"


def test_an_initdb_that_fails_says_why(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "DEBIAN", tmp_path / "none")
    monkeypatch.setattr(postgres, "_account", lambda: None)
    program(programs, "initdb", "print('initdb: error: no space left'); sys.exit(1)")
    program(programs, "postgres", "")
    server = Postgres(may_install=False)
    server.prepare()
    with pytest.raises(Missing, match="PostgreSQL's initdb failed: initdb: error: no space left"):
        server.launch()
    folder = server.password_file.parent
    assert server.password_file.stat().st_mode & 0o777 == 0o600
    server.stop()
    assert not folder.exists()


@pytest.mark.parametrize(("users", "found"), [({"nobody": 65534}, 65534), ({}, None)])
def test_who_postgresql_runs_as(monkeypatch: pytest.MonkeyPatch, users: dict[str, int], found: int | None) -> None:
    def getpwnam(name: str) -> Any:
        return type("User", (), {"pw_uid": users[name], "pw_gid": users[name]})

    monkeypatch.setattr("pwd.getpwnam", getpwnam)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert postgres._account() is None
    monkeypatch.setattr("os.geteuid", lambda: 0)
    if found is None:
        with pytest.raises(Missing, match="PostgreSQL does not run as root, and there is no other user here"):
            postgres._account()
    else:
        account = postgres._account()
        assert account is not None and account.uid == found


@pytest.mark.parametrize("kind", ["opensearch", "s3"])
def test_a_server_in_java_that_does_not_start_says_why(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.delenv("OPENSEARCH_URL", raising=False)
    monkeypatch.setattr(opensearch, "USUAL", "http://127.0.0.1:9")
    broken = program(programs, "java", "print('Exception in thread main: no memory'); sys.exit(1)")
    monkeypatch.setattr(java, "_version", lambda _: 21)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    for each in (s3proxy.JARS, opensearch.JARS):
        each.folder.mkdir(parents=True)
        (each.folder / "one.jar").touch()
    work = tmp_path / "work"
    server: Any = OpenSearch(work) if kind == "opensearch" else S3Proxy(work, tmp_path / "lake")
    server.prepare()
    assert server._java == broken
    server.launch()
    with pytest.raises(Missing, match="did not start: Exception in thread main: no memory"):
        server.wait()
    server.stop()
    if kind == "s3":
        assert server.secret_file.stat().st_mode & 0o777 == 0o600 and (tmp_path / "lake" / "company").is_dir()


# --- what is counted, and the functions of the story -------------------------------------------------------------


def test_orders_are_counted_at_every_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    stores = pytest.importorskip("obstore.store")
    counts = {name: TopicCount(lambda key, row: key) for name in ("orders", "orders.enriched")}
    for count in counts.values():
        count.add(b"1", b'{"cents": 5}')
        count.add(b"2", b'{"cents": 7}')
    warehouse, store = tmp_path / "warehouse.duckdb", stores.MemoryStore()
    assert ends._table(warehouse) == (0, 0), "before the sink has made it"
    with duckdb.connect(str(warehouse)) as connection:
        connection.execute("create table orders (cents int); insert into orders values (5), (7)")
    rows = {"_partition": [0, 0, 0], "_offset": [0, 1, 2], "_key": ["1", "2", "2"], "_deleted": [None] * 3}
    out = io.BytesIO()
    parquet.write_table(pyarrow.table({**rows, "cents": [5, 6, 7]}), out)
    store.put("orders/a.parquet", out.getvalue())
    store.put("orders/_done", b"")
    company: Any = type("Company", (), {"opensearch": None, "warehouse": warehouse})
    company.s3 = type("S3", (), {"store": lambda self: store})()
    watch: Any = type("Watch", (), {"counts": counts})
    found = list(ends._orders(company, 2, 12, watch))
    assert {(end.rows, end.cents) for end in found} == {(2, 12)}
    assert "last rows by key of 3 in Parquet on S3" in [end.where for end in found]


def delivered(key: object, value: Any) -> Delivered:
    return Delivered(topic="orders", partition=0, offset=0, key=key, value=value, timestamp_ms=0, headers=())


def test_an_order_gets_the_name_and_city_of_its_customer(barnabas_node: RunningNode) -> None:
    with Admin(barnabas_node.bootstrap) as admin:
        for name in ("customers", "orders.enriched", "sensors.alerts"):
            admin.create_topic(name, partitions=1)
    with Producer(barnabas_node.bootstrap, value_serializer="json") as producer:
        producer.send("customers", {"id": 7, "name": "Ada", "city": "Oslo"})
    options = {"bootstrap": barnabas_node.bootstrap}
    enrich.write([delivered(1, {"id": 1, "customer_id": 7}), delivered(2, None)], options)
    with pytest.raises(KeyError):  # tried again, until the customer has come
        enrich.write([delivered(3, {"id": 3, "customer_id": 8})], options)
    hot = [{"sensor": "oven", "number": number, "celsius": 180.0 + number % 3} for number in range(1, 30)]
    measured = [*hot, {"sensor": "oven", "number": 30, "celsius": 300.0}]
    anomalies.write([delivered("oven", each) for each in measured], options)

    def values(topic: str) -> list[Any]:
        with Consumer(topic, bootstrap=barnabas_node.bootstrap, follow=False, value_deserializer="json") as found:
            return [message.value for message in found]

    assert values("orders.enriched") == [{"id": 1, "customer_id": 7, "customer": "Ada", "city": "Oslo"}, None]
    (alert,) = values("sensors.alerts")
    assert (alert["number"], alert["celsius"]) == (30, 300.0) and alert["deviation"] > 5
    for module in (enrich, anomalies):
        module._producer(barnabas_node.bootstrap).close()
        module._producer.cache_clear()
    enrich._customers.clear()
