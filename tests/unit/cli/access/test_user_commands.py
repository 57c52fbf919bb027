"""`barnabas user` against a secured node: passwords that are made, given and changed, and who is refused."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.typed import Typed

pytestmark = pytest.mark.usefixtures("admin")


def logs_in(typed: Typed, monkeypatch: pytest.MonkeyPatch, profile: Path) -> bool:
    """Whoever logs in may ask for the topics, of which it sees none."""
    with monkeypatch.context() as patched:
        patched.setenv("BARNABAS_PROFILE", str(profile))
        return typed("topic", "list").code == 0


def test_a_password_is_made_and_shown_once(typed: Typed) -> None:
    said = typed("user", "create", "carol")
    assert said.code == 0
    assert said.lines()[0] == "user carol can log in"
    made = said.lines()[1].removeprefix("password ")
    assert len(made) >= 20 and "write it down now" in said.err
    again = typed("user", "password", "carol", "--json")
    assert again.json()["user"] == "carol" and again.json()["password"] != made


def test_a_saved_profile_logs_in_and_is_for_its_owner_only(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "dave.properties"
    said = typed("user", "create", "dave", "--save", file)
    assert said.code == 0 and "password" not in said.out.replace("dave.properties", "").split("has how")[0]
    assert file.stat().st_mode & 0o777 == 0o600
    assert logs_in(typed, monkeypatch, file)
    refused = typed("user", "create", "dora", "--save", file)
    assert refused.code == 1 and "may have the only copy of a password. Name another file." in refused.err


def test_a_changed_password_is_the_one_that_counts(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, kept = tmp_path / "old.properties", tmp_path / "new.properties", tmp_path / "password"
    kept.write_text("a much better one\n")
    assert typed("user", "create", "erin", "--save", old).code == 0
    assert typed("user", "password", "erin", "--password-file", kept, "--save", new).code == 0
    assert "a much better one" in new.read_text()
    assert logs_in(typed, monkeypatch, new)
    assert not logs_in(typed, monkeypatch, old)


def test_a_password_comes_from_standard_input(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe\n"))
    said = typed("user", "create", "frank", "--password-file", "-")
    assert (said.code, said.out) == (0, "user frank can log in\n")  # it is not shown: whoever gave it has it


def test_users_are_listed_and_deleted(typed: Typed) -> None:
    assert typed("user", "create", "gone").code == 0
    assert "gone SCRAM-SHA-256, SCRAM-SHA-512" in typed("user", "list").lines()
    assert "gone" in {row["user"] for row in typed("user", "list", "--json").json()}
    said = typed("user", "delete", "gone")  # nobody is there to be asked
    assert said.code == 2 and "Delete user gone? Nobody is here to answer. Say --yes." in said.err
    assert typed("user", "delete", "gone", "--yes").out == "user gone is deleted\n"
    assert "gone" not in {row["user"] for row in typed("user", "list", "--json").json()}


def test_nobody_deletes_the_login_that_he_uses(typed: Typed) -> None:
    said = typed("user", "delete", "admin", "--yes")
    assert said.code == 1 and "you are logged in as admin, and would not get in again" in said.err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("create", "alice"), 1, "user alice exists. Change the password with: barnabas user password alice"),
        (("password", "nobody"), 1, "there is no user nobody. Create it with: barnabas user create nobody"),
        (("delete", "nobody", "--yes"), 1, "there is no user nobody. See who there is: barnabas user list"),
        (("create", "x", "--password-file", "/no/such/file"), 1, "the password cannot be read"),
        (("create", ""), 2, "name"),
    ],
)
def test_what_cannot_be_done_is_one_line(typed: Typed, words: tuple[str, ...], code: int, told: str) -> None:
    said = typed("user", *words)
    assert said.code == code and told in said.err and said.err.count("\n") == 1


def test_an_empty_password_is_refused(typed: Typed, tmp_path: Path) -> None:
    file = tmp_path / "empty"
    file.write_text("\n")
    said = typed("user", "create", "henry", "--password-file", file)
    assert said.code == 2 and said.err.count("\n") == 1
    assert "henry" not in typed("user", "list").out


def test_a_user_without_rights_is_told_so(typed: Typed, log_in: Callable[[str], None]) -> None:
    log_in("alice")
    said = typed("user", "list")
    assert said.code == 1 and "list the users: the cluster refused it: cluster authorization failed" in said.err
