"""`barnabas token` against a secured node: a token logs in as its owner until it is ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.testing import RunningNode
from tests.unit.cli.access.logins import profile
from tests.unit.cli.typed import Typed

LogIn = Callable[[str], None]


def test_a_token_is_shown_once_and_a_list_has_no_passwords(typed: Typed, log_in: LogIn) -> None:
    log_in("alice")
    said = typed("token", "create", "--renewer", "bob")
    assert said.code == 0 and "of alice expires" in said.lines()[0] and said.lines()[1].startswith("hmac ")
    hmac = said.lines()[1].removeprefix("hmac ")
    assert "keep it like a password" in said.err
    listed = typed("token", "list")
    assert any(" alice alice bob 20" in line for line in listed.lines()) and hmac not in listed.out
    rows = typed("token", "list", "--owner", "User:alice", "--json").json()
    assert {row["owner"] for row in rows} == {"alice"} and "hmac" not in rows[0]
    assert rows[-1]["renewers"] == ["bob"]


def test_a_saved_token_is_for_java_clients(
    typed: Typed, log_in: LogIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in("alice")
    file = tmp_path / "job.properties"
    made = typed("token", "create", "--save", file, "--json").json()
    assert made["file"] == str(file) and "hmac" not in made
    assert f'username="{made["token"]}"' in file.read_text() and 'tokenauth="true"' in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    said = typed("token", "create", "--save", tmp_path / "other.properties")
    assert said.lines()[1] == f"{tmp_path / 'other.properties'} has how to log in with it, for Java clients"
    monkeypatch.setenv("BARNABAS_PROFILE", str(file))
    said = typed("token", "list")  # a command that speaks the protocol itself has logged in with it
    assert said.code == 1 and "only who has logged in with credentials of its own may" in said.err
    said = typed("topic", "list")
    assert said.code == 1 and "librdkafka cannot log in with a delegation token (tokenauth): use a Java" in said.err


def test_whoever_has_not_logged_in_gets_no_token(typed: Typed, barnabas_node: RunningNode) -> None:
    said = typed("token", "create", "-b", barnabas_node.bootstrap)
    assert said.code == 1 and "only who has logged in with credentials of its own may. Connect to a" in said.err


def test_a_token_is_renewed_and_ended(typed: Typed, log_in: LogIn) -> None:
    log_in("bob")
    made = typed("token", "create", "--lifetime", "2d", "--json").json()
    token = made["token"]
    renewed = typed("token", "renew", token, "--for", "36h", "--json").json()
    assert made["expires_ms"] < renewed["expires_ms"] <= made["max_ms"]
    later = typed("token", "expire", token, "--in", "1h")
    assert later.code == 0 and later.out.startswith(f"token {token} expires 20")
    assert typed("token", "expire", token).out == f"token {token} is removed\n"
    assert token not in typed("token", "list").out
    said = typed("token", "renew", token)
    assert said.code == 1 and f"there is no token {token} that you may see" in said.err


def test_whoever_has_none_is_told_how_to_make_one(typed: Typed, log_in: LogIn) -> None:
    log_in("admin")
    assert typed("token", "list", "--owner", "nobody").out == "no tokens. Make one: barnabas token create\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("create", "--lifetime", "soon"), "'soon' is not a length of time"),
        (("create", "--owner", "User:"), "a user has no name. Write it as alice or User:alice."),
        (("renew", "x", "--for", "-1h"), "is not a length of time"),
    ],
)
def test_words_that_make_no_sense(typed: Typed, log_in: LogIn, words: tuple[str, ...], told: str) -> None:
    log_in("alice")
    said = typed("token", *words)
    assert said.code == 2 and told in said.err and said.err.count("\n") == 1


@pytest.mark.barnabas(secure=True)
def test_a_cluster_without_tokens_says_what_is_missing(
    typed: Typed, barnabas_node: RunningNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BARNABAS_PROFILE", str(profile(barnabas_node, "admin", tmp_path)))
    said = typed("token", "create", "-b", barnabas_node.bootstrap)
    assert said.code == 1 and "create a token: this cluster has no tokens. Set delegation.token.secret.key" in said.err
