"""`barnabas schema`, and `produce` and `consume` with a registry: every example of docs/cli.md, and what goes wrong."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.app import invoke
from barnabas.cli.common.failure import Failure
from tests.support.pages import ROOT, run
from tests.support.process import free_port
from tests.support.registry import RegistryProcess, register
from tests.support.servers import BarnabasNode

PAYMENT: dict[str, Any] = {"type": "record", "name": "Payment", "fields": [{"name": "cents", "type": "long"}]}
Shell = Callable[[str], subprocess.CompletedProcess[str]]
NOTE = {"name": "note", "type": ["null", "string"], "default": None}


@pytest.fixture
def shell(node: BarnabasNode, registry: RegistryProcess, tmp_path: Path) -> Shell:
    """A line as it is typed, with the registry of the test in place of the usual address."""

    def typed(line: str) -> subprocess.CompletedProcess[str]:
        line = line.replace("http://127.0.0.1:8081", registry.address)
        return run(f"export BARNABAS_REGISTRY={registry.address}; {line}", node.bootstrap, tmp_path)

    return typed


def test_every_example_works(shell: Shell, registry: RegistryProcess, tmp_path: Path) -> None:
    (tmp_path / "payment.avsc").write_text(json.dumps(PAYMENT))
    for subject in ("orders-value", "views-value", "payments-value"):
        register(registry.port, subject, PAYMENT)
    register(registry.port, "orders-value", {**PAYMENT, "fields": [*PAYMENT["fields"], NOTE]})
    page = (ROOT / "docs" / "cli.md").read_text()
    found = re.findall(
        r"^ +((?:echo|barnabas) .*--registry http.*|barnabas schema \w+ .*|barnabas schema list)$", page, re.M
    )
    found = [line for line in found if not line.startswith("barnabas registry")]  # test_moving.py has those
    found.sort(key=lambda line: ("produce" not in line, "delete" in line))
    assert len(found) >= 12
    for line in found:
        done = shell(line)
        assert done.returncode == 0, (line, done)


def test_words_for_what_changed_and_why_it_may_not(shell: Shell, registry: RegistryProcess, tmp_path: Path) -> None:
    register(registry.port, "words-value", PAYMENT)
    register(registry.port, "words-value", {**PAYMENT, "fields": [*PAYMENT["fields"], NOTE]})
    told = shell("barnabas schema diff words-value").stdout.splitlines()
    assert told[1] == "  field note (null or string, default null) was added"
    assert '+      "name": "note",' in told
    bad = {**PAYMENT, "fields": [{"name": "cents", "type": "string"}]}
    (tmp_path / "bad.avsc").write_text(json.dumps(bad))
    done = shell("barnabas schema check words-value bad.avsc")
    assert done.returncode == 1
    assert done.stdout.startswith("not compatible with words-value (BACKWARD)\n  ")
    assert "/fields/0/type" in done.stdout
    refused = shell("barnabas schema register words-value bad.avsc")
    assert refused.returncode == 1
    assert "not compatible with earlier versions: " in refused.stderr
    assert refused.stderr.count("\n") == 1
    seen = json.loads(shell("barnabas schema check words-value bad.avsc --json").stdout)
    assert (seen["compatible"], seen["reasons"][0]["path"]) == (False, "/fields/0/type")


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.avsc", json.dumps({**PAYMENT, "fields": [*PAYMENT["fields"], NOTE]}), {"cents": 5, "note": "x"}),
        ("a.proto", 'syntax = "proto3"; message Pay { int32 cents = 1; int32 n = 2; }', {"cents": 5, "n": 1}),
    ],
)  # fmt: skip
def test_json_in_json_out(shell: Shell, tmp_path: Path, name: str, text: str, line: dict[str, Any]) -> None:
    topic = f"cli-{name.rpartition('.')[2]}"
    (tmp_path / name).write_text(text)
    (tmp_path / "in").write_text(
        json.dumps({"key": "k", "value": line}) + "\n" + json.dumps({"key": "k", "value": None})
    )
    registry = "--registry http://127.0.0.1:8081"
    done = shell(f"barnabas produce {topic} in --json {registry} --value-schema {name}")
    assert done.returncode == 0, done.stderr
    again = shell(f"barnabas consume {topic} --json {registry} | barnabas produce {topic} --json {registry}")
    assert again.returncode == 0, again.stderr
    read = shell(f"barnabas consume {topic} {registry} --keys --where '.cents == 5'").stdout.splitlines()
    assert [json.loads(each.partition("\t")[2]) for each in read] == [line, line]


def test_keys_with_schemas_and_records_without(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "value.avsc").write_text(json.dumps(PAYMENT))
    (tmp_path / "key.avsc").write_text('"long"')
    registry = "--registry http://127.0.0.1:8081"
    made = shell(
        f"echo '7:{{\"cents\": 1}}' | barnabas produce keyed -K : {registry}"
        " --value-schema value.avsc --key-schema key.avsc"
    )
    assert made.returncode == 0, made.stderr
    assert shell("echo plain:text | barnabas produce keyed -K :").returncode == 0
    done = shell(f"barnabas consume keyed --keys {registry}")
    assert done.stdout.splitlines() == ['7\t{"cents":1}', "plain\ttext"]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "schema show nothing",
            "get version latest of 'nothing': Subject 'nothing' not found. What there is: barnabas schema list",
        ),
        ("schema show --id 9999", "get schema 9999: Schema 9999 not found"),
        ("schema show", "which schema? Say a subject, or --id ID."),
        ("schema show a --version x", "'x' is not a version. A version is a number from 1 on, or latest."),
        ("schema register a none.avsc", "cannot read the Avro schema none.avsc: no such file or directory"),
        ("schema register a /dev/null", "/dev/null: what is it? A schema's name ends with .avsc, .json, .proto"),
        ("schema delete a", "Delete subject a? Nobody is here to answer. Say --yes."),
        ("schema check a none.avsc --version x", "cannot read the Avro schema none.avsc"),
        ("produce t --value-subject s", "schemas are kept in a registry. Say which: --registry"),
        ("schema list -r 127.0.0.1", "'127.0.0.1' is not the address of a registry: write it as"),
    ],
)
def test_what_goes_wrong_is_one_line(
    node: BarnabasNode, registry: RegistryProcess, monkeypatch: pytest.MonkeyPatch, line: str, told: str
) -> None:
    """In this process: a dozen of them would take ten seconds otherwise."""
    monkeypatch.setenv("BARNABAS_BOOTSTRAP", node.bootstrap)
    monkeypatch.setenv("BARNABAS_REGISTRY", registry.address)
    words = line.replace("http://127.0.0.1:8081", registry.address).split()
    with Path("/dev/null").open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        with pytest.raises(Failure) as caught:
            invoke(words)
    assert told in caught.value.line()


def test_values_that_are_no_json_or_do_not_fit(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "payment.avsc").write_text(json.dumps(PAYMENT))
    way = "barnabas produce cli-unfit --registry http://127.0.0.1:8081"
    for text, told in (("x", "line 1: the value is not JSON: "), ('{"cents": "x"}', "line 1: the value does not fit")):
        done = shell(f"echo '{text}' | {way} --value-schema payment.avsc")
        assert done.returncode == 1
        assert done.stderr.startswith(f"barnabas: {told}")
        assert done.stderr.count("\n") == 1


def test_a_subject_that_is_not_there(shell: Shell, tmp_path: Path) -> None:
    """A misspelled one must not look as if something had been compared; a first record is told how to begin."""
    (tmp_path / "payment.avsc").write_text(json.dumps(PAYMENT))
    done = shell("barnabas schema check paymets-value payment.avsc")
    assert (done.returncode, done.stdout) == (0, "paymets-value has no versions yet: this would be the first\n")
    done = shell("echo '{}' | barnabas produce cli-first --registry http://127.0.0.1:8081")
    assert done.returncode == 1 and done.stderr.endswith("not found. Name its schema: --value-schema FILE\n")


def test_no_registry_there() -> None:
    gone = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(Failure) as caught:
        invoke(["schema", "list", "-r", gone])
    told = f"cannot reach the registry {gone}: connection refused. Is a registry up? Try: barnabas up --registry"
    assert caught.value.line() == told
