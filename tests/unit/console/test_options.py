"""What a console is not started with, in one line each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from barnabas.console.options import ConsoleOptions, load
from barnabas.console.people.passwords import hashed
from barnabas.console.problems import Problem
from barnabas.console.server import run

CLUSTER = '[clusters.a]\nbootstrap = "127.0.0.1:1"\n'


def loaded(folder: Path, text: str) -> ConsoleOptions:
    path = folder / "console.toml"
    path.write_text(text)
    return load(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "names no cluster"),
        ("port = ", "cannot be read"),
        ('nonsense = 1\n[clusters.a]\nbootstrap = "127.0.0.1:1"', "there is no setting 'nonsense'"),
        (CLUSTER + '[users]\nada = "a secret"', "user ada has no hash of a password"),
        (CLUSTER + "[users]\nada = 7", "user ada has no hash of a password"),
        (f'port = "x"\n{CLUSTER}', "Expected `int`"),
        (f"port = 70000\n{CLUSTER}", "<= 65535"),
        (f"read_only = 1\n{CLUSTER}", "Expected `bool`"),
        (CLUSTER + '[[roles]]\ndata = "no"', "data of role"),
        (CLUSTER + '[[roles]]\nusers = "ada"', "a list of texts is wanted"),
        (CLUSTER + '[[roles]]\nmay = "everything"', "may"),
        ('[clusters."a/b"]\nbootstrap = "127.0.0.1:1"', "a cluster is named by letters"),
        ("clusters = 5", "[clusters] is a table"),
    ],
)
def test_a_file_that_makes_no_sense(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(Problem) as refused:
        loaded(tmp_path, text)
    assert told in refused.value.message
    assert "a secret" not in refused.value.message


def test_a_file_that_makes_sense(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        f'port = 0\n{CLUSTER}[users]\nada = "scrypt:AA:AA"\n[[roles]]\nname = "look"\nusers = ["ada"]\ndata = false',
    )
    assert found.roles[0].users == ("ada",) and not found.roles[0].data
    assert found.clusters[0].addresses == [("127.0.0.1", 1)]


def test_a_certificate_that_cannot_be_used_is_told_before_anything_listens(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("nothing")
    for name in ("/nowhere.pem", str(broken)):
        options = loaded(tmp_path, f'certificate = "{name}"\nport = 0\n{CLUSTER}')
        with pytest.raises(Problem, match="cannot be used"):
            run(options, lambda _: None)


def test_no_secret_is_in_what_options_look_like_in_a_log(tmp_path: Path) -> None:
    told = loaded(
        tmp_path,
        '[clusters.c]\nbootstrap = "h:1"\nssl.key.password = "s3cret"\n[users]\nada = "scrypt:c2FsdA==:s3cret"\n'
        '[oidc]\nissuer = "https://i"\nclient_id = "c"\nclient_secret = "s3cret"\n',
    )
    assert "s3cret" in str(told.clusters[0].settings) and "s3cret" not in repr(told)


def test_the_file_of_the_page(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "console.md"
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    options = loaded(tmp_path, text.replace("scrypt:...", hashed("a secret")))
    assert [each.name for each in options.clusters] == ["orders", "views"]
    assert [each.name for each in options.roles] == ["support", "analysts"]
