"""docs/connectors/kafka-connect.md as a reader follows it, with the jars that tools/setup_connect has fetched."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree
from pathlib import Path

from tests.support.kafka_connect import CONNECT
from tests.support.members import until
from tests.support.pages import ROOT, blocks, commands, environment, run
from tests.support.paths import require
from tests.support.postgres import Postgres
from tests.support.process import ServerProcess, free_port
from tests.support.servers import BarnabasNode

PAGE = ROOT / "docs" / "connectors" / "kafka-connect.md"
POM = ROOT / "tests" / "java" / "connect" / "pom.xml"


def test_the_page(tmp_path: Path) -> None:
    rest = free_port()
    with Postgres() as database, BarnabasNode(tmp_path / "node") as node:

        def here(text: str) -> str:
            text = text.replace("127.0.0.1:8083", f"127.0.0.1:{rest}").replace("127.0.0.1:9092", node.bootstrap)
            return text.replace("5432", str(database.port))

        (sql,), (properties,) = blocks(PAGE, "sql"), blocks(PAGE, "properties")
        database.execute(sql)
        folder = tmp_path / "reader"
        folder.mkdir()
        for name in ("libs", "plugins"):
            (folder / name).symlink_to(require(CONNECT) / name)
        (folder / "worker.properties").write_text(here(properties))
        for name, text in zip(("shop.json", "copy.json"), blocks(PAGE, "json"), strict=True):
            (folder / name).write_text(here(text))
        typed = [here(each.text) for each in commands(PAGE)]
        (start,) = [each for each in typed if "ConnectDistributed" in each]
        shop, status, consume, copy = [each for each in typed if each.startswith(("curl -sf", "barnabas consume"))]
        command = ["bash", "-c", f"cd {folder} && exec env {start}"]
        worker = ServerProcess(command, rest, tmp_path / "worker.log", environment(node.bootstrap, folder))
        try:
            worker.start(120)
            until(lambda: run(shop, node.bootstrap, folder).returncode == 0, "the source is taken", 60)
            until(lambda: _running(run(status, node.bootstrap, folder).stdout), "the source runs", 60)
            until(lambda: "bob" in run(consume, node.bootstrap, folder).stdout, "the snapshot is there", 60)
            until(lambda: run(copy, node.bootstrap, folder).returncode == 0, "the sink is taken", 60)
            database.execute("update orders set amount = 13 where id = 1; delete from orders where id = 2")
            until(lambda: _copied(database) == [(1, "ann", "13.00")], "the copy is the table", 60)
        finally:
            worker.stop()


def _running(status: str) -> bool:
    tasks = json.loads(status)["tasks"] if status else []
    return [each["state"] for each in tasks] == ["RUNNING"]


def _copied(database: Postgres) -> list[tuple[object, ...]]:
    there = database.execute("select to_regclass('copy.orders') is not null")[0][0]
    return database.execute("select id, customer, amount::text from copy.orders") if there else []


def test_the_page_has_the_versions_that_are_tested() -> None:
    (pom,) = blocks(PAGE, "xml")
    assert _versions(pom) <= _versions(POM.read_text())


def _versions(pom: str) -> set[tuple[str, ...]]:
    found = set()
    for name, value in re.findall(r"<([\w.]+\.version)>(.*?)</", pom):
        pom = pom.replace(f"${{{name}}}", value)
    for each in xml.etree.ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", pom)).iter():
        if each.tag in ("dependency", "artifactItem"):
            found.add(tuple(each.findtext(name, "") for name in ("artifactId", "version", "type", "classifier")))
    return found
