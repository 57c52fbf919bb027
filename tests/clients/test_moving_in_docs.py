"""The program of docs/moving-in.md copies a topic from one cluster to another, and goes on after a crash."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas import Admin, Consumer, Producer
from barnabas.testing import running_node

PAGE = Path(__file__).parents[2] / "docs" / "moving-in.md"


def copy_topic() -> Callable[[str, str, str], int]:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    found: Callable[[str, str, str], int] = names["copy_topic"]
    return found


def test_the_program_copies_a_topic_as_it_is() -> None:
    copy = copy_topic()
    with running_node() as old, running_node() as new:
        for node in (old, new):
            with Admin(node.bootstrap) as admin:
                admin.create_topic("orders", partitions=3)
        with Producer(old.bootstrap) as producer:
            for number in range(100):
                producer.send("orders", b"%d" % number, b"k%d" % number, {"n": b"h"}, timestamp_ms=1_000 + number)
        assert copy("orders", old.bootstrap, new.bootstrap) == 100
        with Producer(old.bootstrap) as producer:
            producer.send("orders", b"later", b"k1")
        assert copy("orders", old.bootstrap, new.bootstrap) == 1, "it goes on where it was"

        def content(bootstrap: str) -> list[Any]:
            read = Consumer("orders", bootstrap=bootstrap, follow=False)
            return sorted((m.partition, m.offset, m.key, m.value, m.headers, m.timestamp_ms) for m in read)

        assert content(new.bootstrap) == content(old.bootstrap)


def test_a_misspelled_topic_is_not_created_on_either_side() -> None:
    from barnabas import UnknownTopic

    with running_node() as old, running_node() as new, pytest.raises(UnknownTopic):
        copy_topic()("ordres", old.bootstrap, new.bootstrap)
