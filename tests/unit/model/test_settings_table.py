"""The tables themselves: complete, documented, and the same as Kafka 4.3's where tools rely on it."""

import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.model.settings import GROUP_SETTINGS, NODE_SETTINGS, TOPIC_SETTINGS, ConfigType, Setting, UpdateMode

ALL = [*TOPIC_SETTINGS.values(), *NODE_SETTINGS.values(), *GROUP_SETTINGS.values()]


def test_as_many_settings_are_shown_as_kafka_shows() -> None:
    assert sum(not row.internal for row in TOPIC_SETTINGS.values()) == 33
    assert sum(not row.internal for row in NODE_SETTINGS.values()) == 340
    assert len(GROUP_SETTINGS) == 17


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.name)
def test_each_says_what_it_is_for_in_a_sentence(row: Setting) -> None:
    assert row.doc.endswith(".") and 20 <= len(row.doc) <= 160
    if not row.effective:
        assert row.doc.startswith(("Accepted for compatibility; ", "Stored; ", "Only "))


def test_what_stands_behind_a_setting_exists() -> None:
    for row in (*TOPIC_SETTINGS.values(), *GROUP_SETTINGS.values()):
        for name in row.synonyms:
            assert name in NODE_SETTINGS
        if row.synonyms and len(row.synonyms) == 1:
            behind = NODE_SETTINGS[row.synonyms[0]]
            assert (behind.type, behind.default) == (row.type, row.default)


def test_passwords_are_secret_and_nothing_else_is() -> None:
    secret = {row.name for row in ALL if row.sensitive}
    assert {"ssl.key.password", "sasl.jaas.config", "delegation.token.secret.key"} <= secret
    assert all(row.type is ConfigType.PASSWORD for row in ALL if row.sensitive)


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("log.retention.ms", UpdateMode.CLUSTER_WIDE),
        ("log.retention.hours", UpdateMode.READ_ONLY),
        ("num.partitions", UpdateMode.READ_ONLY),
        ("ssl.keystore.location", UpdateMode.PER_NODE),
        ("log.cleaner.threads", UpdateMode.CLUSTER_WIDE),
        ("listeners", UpdateMode.READ_ONLY),
    ],
)
def test_who_may_change_a_node_setting_and_when(name: str, mode: UpdateMode) -> None:
    assert NODE_SETTINGS[name].update_mode is mode


def test_the_page_says_what_the_table_says() -> None:
    """docs/settings.md is made by tools/settings_page.py; after a change of the table it has to be made anew."""
    root = Path(__file__).resolve().parents[3]
    result = subprocess.run(
        [sys.executable, str(root / "tools" / "settings_page.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
