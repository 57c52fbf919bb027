"""Definitions in YAML: what a good one becomes, and what is said of a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.connect.definition.loading import load, load_file
from barnabas.connect.definition.references import resolved
from barnabas.connect.definition.shown import literal_secrets, shown
from barnabas.connect.errors import BadOption

SINK = """
name: orders-search
from: {topics: [orders, "^logs-.*"], format: json, start: latest}
to: {opensearch: {url: "http://127.0.0.1:9200", index: orders, password: "${env:SECRET}"}}
transform: [{rename: {id: order_id}}, flatten]
tasks: 2
"""
SOURCE = """
name: orders
from: {postgres: {url: "postgresql://app:secret@127.0.0.1/shop", tables: [public.orders]}}
to: {topic: orders, partitions: 6, key_format: json}
"""


def test_a_sink_and_a_source() -> None:
    sink, source = load(SINK + "---" + SOURCE)
    assert (sink.side, sink.connector, sink.topics, sink.tasks) == ("sink", "opensearch", ("orders", "^logs-.*"), 2)
    assert (sink.start, sink.format.value, sink.group) == ("latest", "json", "connect-orders-search")
    assert [next(iter(each)) for each in sink.transform] == ["rename", "flatten"]
    assert (source.side, source.topic, source.partitions, source.format.key) == ("source", "orders", 6, "json")
    assert source.positions_topic == "orders.positions" and source.dead_topic == "orders.dead"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("[1, 2]", "a definition is name, from and to"),
        ("name: [", "no valid YAML"),
        (SINK.replace("name: orders-search", "name: a b"), "letters, digits"),
        (SINK.replace("transform:", "transfrom:"), "Did you mean 'transform'?"),
        (SINK.replace("opensearch:", "opensearsh:"), "Did you mean 'opensearch'?"),
        (SINK.replace("rename:", "renmae:"), "Did you mean 'rename'?"),
        (SINK.replace("tasks: 2", "tasks: 0"), "tasks is 1 to 64"),
        (SINK.replace("tasks: 2", "tasks: many"), "expected `int`"),
        (SINK.replace("format: json", "format: xml"), "there is no format 'xml'"),
        (SINK.replace("format: json", "format: avro"), "needs a registry"),
        (SINK.replace("^logs-.*", "^logs-("), "missing ), unterminated subpattern"),
        (SINK.replace("to: {opensearch", "to: {topic: x, opensearch"), "topics on both sides"),
        (SOURCE.replace("topic: orders", "toppic: orders"), "one side is a topic"),
        (SOURCE.replace("topic: orders", 'topic: "a b"'), "is no topic's name"),
        (SOURCE.replace("from: {postgres", "from: {s3: {}, postgres"), "one system"),
        (SINK + "---" + SINK, "two connectors of the name"),
        ("a: &a [1]\nb: *a", "aliases"),
        ("x" * 10, "a definition is name, from and to"),
        ("name: a\nfrom: {topics: [x]}\n", "'to' is missing"),
        (SINK.replace('[orders, "^logs-.*"]', "[]"), "topics is a list of names"),
        (SINK.replace('[orders, "^logs-.*"]', '["a b"]'), "A regular expression begins with ^"),
        (SINK.replace("[{rename: {id: order_id}}, flatten]", "flatten"), "transform is a list of steps"),
        (
            SOURCE.replace('{url: "postgresql://app:secret@127.0.0.1/shop", tables: [public.orders]}', "7"),
            "are name: value",
        ),
        ("name: a\x00b", "the character '\\x00' may not be in it"),
        ("---\n".join(f"name: c{number}\nfrom: {{s3: {{}}}}\nto: {{topic: t}}\n" for number in range(2000)), "at most"),
    ],
)
def test_what_is_wrong_is_said(text: str, told: str) -> None:
    with pytest.raises(BadOption) as problem:
        load(text)
    assert told in str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="cannot be read"):
        load_file(tmp_path / "missing.yaml")
    large = tmp_path / "large.yaml"
    large.write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(BadOption, match="more than"):
        load_file(large)


def test_secrets_are_references_and_never_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sink, source = load(SINK + "---" + SOURCE)
    assert literal_secrets(sink) == [] and literal_secrets(source) == ["url"]
    assert "secret" not in str(shown(source.options))
    assert shown({"password": "x", "nested": {"api_key": "y"}}) == {
        "password": "[hidden]",
        "nested": {"api_key": "[hidden]"},
    }
    with pytest.raises(BadOption, match="SECRET"):
        resolved(sink.options)
    monkeypatch.setenv("SECRET", "hush")
    assert resolved(sink.options)["password"] == "hush"
    (tmp_path / "password").write_text("from a file\n")
    assert resolved([f"${{file:{tmp_path}/password}}"]) == ["from a file"]
