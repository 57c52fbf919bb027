"""What `up` says when it is ready."""

import pytest

from barnabas.cli.up.screen import ready


def test_an_address_and_what_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    ready("1.2.3", "127.0.0.1:9093", "/data", 0.5)
    said = capsys.readouterr().out
    assert "barnabas 1.2.3 is up on 127.0.0.1:9093" in said
    assert "barnabas produce greetings -b 127.0.0.1:9093" in said


def test_a_journal_gets_no_tutorial(capsys: pytest.CaptureFixture[str]) -> None:
    ready("1.2.3", "127.0.0.1:9093", "/data", 0.5, tutorial=False)
    said = capsys.readouterr().out
    assert "barnabas 1.2.3 is up on 127.0.0.1:9093" in said
    assert len(said.splitlines()) == 2


def test_a_controller_alone_has_nothing_for_clients(capsys: pytest.CaptureFixture[str]) -> None:
    ready("1.2.3", "", "/data", 0.5)
    said = capsys.readouterr().out
    assert "is up as a controller" in said
    assert "produce" not in said
    assert "Ctrl-C stops it cleanly." in said


def test_how_much_memory_clients_can_make_it_take(capsys: pytest.CaptureFixture[str]) -> None:
    ready("1.2.3", "127.0.0.1:9093", "/data", 0.5, memory_bytes=3 << 30, tutorial=False)
    assert "clients can make it hold at most 3 GiB of memory" in capsys.readouterr().out
