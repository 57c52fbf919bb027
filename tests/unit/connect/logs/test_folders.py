from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.connect.connectors.logs.folders import Folders, log_name
from barnabas.connect.connectors.logs.source import LogsSource
from barnabas.connect.errors import BadOption


@pytest.mark.parametrize(
    ("name", "log"),
    [
        ("app.log", "app.log"),
        ("app.log.1", "app.log"),
        ("app.log.10", "app.log"),
        ("app.log-20261118", "app.log"),
        ("app.log-20261118-1763424000", "app.log"),
        ("app-20261118.log", "app.log"),
        ("app-2026-11-18-3.log", "app.log"),
        ("app.2026-11-18.0.log", "app.log"),
        ("app.log.2026-11-18T10:00:00", "app.log"),
        ("app.log.old", "app.log"),
        ("syslog.1", "syslog"),
        ("node2.log", "node2.log"),
        ("web-7d4b9c.log", "web-7d4b9c.log"),
        ("1", "1"),
    ],
)
def test_names_of_logs(name: str, log: str) -> None:
    assert log_name(name) == log


def test_splits_are_logs_not_files(tmp_path: Path) -> None:
    for name in ("app.log", "app.log.1", "app.log.2.gz", "db.log", "notes.txt", "web-1.log", "web-2.log"):
        (tmp_path / name).write_text("x\n")
    (tmp_path / "current.log").symlink_to("app.log")
    (tmp_path / "folder.log").mkdir()
    folders = Folders([f"{tmp_path}/*.log"], ["db*"])
    assert folders.logs() == [f"{tmp_path}/app.log", f"{tmp_path}/web.log"]
    assert sorted(folders.files(f"{tmp_path}/app.log")) == ["app.log", "app.log.1"]
    assert folders.matches(f"{tmp_path}/app.log", "app.log")
    assert not folders.matches(f"{tmp_path}/app.log", "app.log.1")


def test_a_log_stays_while_only_its_rotated_file_is_there(tmp_path: Path) -> None:
    (tmp_path / "app.log.1").write_text("x\n")
    assert Folders([f"{tmp_path}/app.log"], []).logs() == [f"{tmp_path}/app.log"]
    assert Folders([f"{tmp_path}/missing/app.log"], []).logs() == []


def test_folders_by_pattern(tmp_path: Path) -> None:
    for name in ("a/x.log", "b/c/x.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    assert Folders([f"{tmp_path}/*/x.log"], []).logs() == [f"{tmp_path}/a/x.log"]
    assert Folders([f"{tmp_path}/**/x.log"], []).logs() == [f"{tmp_path}/a/x.log", f"{tmp_path}/b/c/x.log"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "one of the options 'paths', 'journald' and 'syslog'"),
        ({"path": "/x"}, "no option 'path'; did you mean 'paths'"),
        ({"paths": "x.log"}, "does not begin with /"),
        ({"paths": "/x", "encoding": "utf-9"}, "there is no 'utf-9'"),
        ({"paths": "/x", "encoding": "cp037"}, "cannot be found by their newline"),
        ({"paths": "/x", "max_line_bytes": 1}, "not between 64"),
        ({"paths": "/x", "value": "json"}, "value"),
        ({"paths": "/x", "multiline": {"first": "("}}, "missing"),
        ({"syslog": "udp:127.0.0.1:1"}, "udp://127.0.0.1:5514"),
        ({"syslog": "tcp://127.0.0.1:99999"}, "tcp://127.0.0.1:5514"),
    ],
)
def test_options_that_cannot_be_right(options: dict[str, object], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        LogsSource("x", options)
