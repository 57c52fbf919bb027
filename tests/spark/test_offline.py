"""Without a network, and without the jars of Spark's Kafka connector: what the real Ivy says becomes one line, soon."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from barnabas.pipelines import ivy
from barnabas.pipelines.activity import PIPELINE
from barnabas.pipelines.connector import connector_jars
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import realtime
from barnabas.pipelines.framework.running import Wanted


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_a_repository_that_refuses_is_one_line_and_micro_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    monkeypatch.setenv(ivy.REPOSITORY_VARIABLE, f"http://127.0.0.1:{port}/")
    said = list[str]()
    tasks = realtime.tasks_wanted(Wanted(PIPELINE, "", tmp_path), tmp_path, set(), said.append)
    assert tasks == 0 and len(said) == 1
    assert said[0].startswith("no Real-Time Mode, micro-batches instead: Spark's Kafka connector could not be fetched")
    assert f"(127.0.0.1:{port} is not reached: Connection refused)" in said[0]
    assert "kafka-clients-3.9.2.jar, commons-pool2-2.13.1.jar into " in said[0]


def test_a_host_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ivy.REPOSITORY_VARIABLE, "http://nowhere.invalid/")
    with pytest.raises(PipelineError, match=r"\(there is no host nowhere.invalid here\)"):
        connector_jars()


def test_a_repository_that_does_not_answer_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ivy, "READ_TIMEOUT_MS", 500)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setenv(ivy.REPOSITORY_VARIABLE, f"http://127.0.0.1:{port}/")
        with pytest.raises(PipelineError, match=rf"\(127.0.0.1:{port} is not reached: Read timed out\)"):
            connector_jars()
