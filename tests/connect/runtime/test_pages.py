"""docs/connectors as a reader follows it: the first steps are typed, functions run, every definition is good."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from barnabas.cli.app import invoke
from tests.support.connect import ConnectWorker, all_records, running, written
from tests.support.members import until
from tests.support.pages import ROOT, commands, run, section
from tests.support.servers import BarnabasNode

FOLDER = ROOT / "docs" / "connectors"
INDENTED = re.compile(r"(?:^    .*\n)+", re.MULTILINE)


def indented(text: str) -> list[str]:
    """The blocks that are indented by four, without that."""
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in INDENTED.findall(text)]


def definitions() -> list[tuple[str, str]]:
    found = []
    for page in sorted(FOLDER.glob("*.md")):
        blocks = [block for block in indented(page.read_text()) if block.lstrip().startswith("name:")]
        found += [(f"{page.stem}-{number}", block) for number, block in enumerate(blocks, 1)]
    return found


def test_every_system_has_a_definition_on_its_page() -> None:
    pages = {page.stem for page in FOLDER.glob("*.md")} - {"kafka-connect"}  # that one has Kafka Connect's
    assert {name.rpartition("-")[0] for name, _ in definitions()} == pages


@pytest.mark.parametrize(("name", "text"), definitions(), ids=[name for name, _ in definitions()])
def test_every_definition_is_good(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for secret in re.findall(r"\$\{env:(\w+)\}", text):
        monkeypatch.setenv(secret, "secret")
    (tmp_path / "secret").write_text("secret")
    here = re.sub(r"\$\{file:[^}]*\}", f"${{file:{tmp_path / 'secret'}}}", text)
    here = here.replace("/var/lib/warehouse", str(tmp_path))
    file = written(tmp_path / f"{name}.yaml", here)
    assert invoke(["connect", "check", str(file)]) == 0
    assert capsys.readouterr().out.count("Good.") == len(re.findall(r"^name:", text, re.MULTILINE))


def test_the_first_one(node: BarnabasNode, tmp_path: Path) -> None:
    page = FOLDER / "README.md"
    first = [each.text for each in commands(page)][:4]
    assert [each.split()[1] for each in first] == ["connect", "connect", "consume", "connect"]
    new, start, consume, status = first
    assert run(new, node.bootstrap, tmp_path).returncode == 0
    assert start == "barnabas connect run mine.yaml"
    worker = ConnectWorker(node.bootstrap, tmp_path.parent / "worker.log", Path("mine.yaml"))
    worker.command = ["env", f"--chdir={tmp_path}", *worker.command]
    with running(worker):
        until(lambda: "mine.py" in run(consume, node.bootstrap, tmp_path).stdout, "the folder's files are there", 30)
        # A worker tells every two seconds, and the first records may be there sooner.
        until(lambda: "running" in run(status, node.bootstrap, tmp_path).stdout, "it has told that it runs")


def test_functions_of_ones_own(node: BarnabasNode, tmp_path: Path) -> None:
    blocks = indented(section(FOLDER / "README.md", "One of your own"))
    written(tmp_path / "page.py", "\n\n".join(block for block in blocks if block.startswith("def ")))
    text = "name: page-out\nfrom: {python: {file: page.py, function: read}}\nto: {topic: page}\n---\n"
    text += "name: page-in\nfrom: {topics: [page]}\nto: {python: {file: page.py, function: write}}\n"
    file, log = written(tmp_path / "page.yaml", text), tmp_path / "worker.log"
    with running(ConnectWorker(node.bootstrap, log, file)):
        until(lambda: len(all_records(node.bootstrap, "page")) == 1000, "the function's thousand records", 30)
        until(lambda: len(re.findall(r"^page \d+ \d+ ", log.read_text(), re.MULTILINE)) == 1000, "all printed", 30)
