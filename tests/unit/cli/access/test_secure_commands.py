"""`barnabas secure`: an authority, bundles for nodes, renewal, and what expires."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cli.secure import authority
from barnabas.cli.secure.bundle import admin_credential, ensure
from barnabas.cli.secure.files import write_secret
from tests.unit.cli.typed import Typed


@pytest.fixture
def folder(typed: Typed, tmp_path: Path) -> Path:
    made = tmp_path / "authority"
    said = typed("secure", "init", made)
    assert said.code == 0 and "keep ca.key secret and safe" in said.out and "next: barnabas secure node" in said.out
    return made


def test_an_authority_is_made_once_and_for_its_owner_only(typed: Typed, folder: Path) -> None:
    assert {each.name for each in folder.iterdir()} == {
        "ca.pem", "ca.key", "admin.properties", "admin.librdkafka.properties", "admin.scram",
    }  # fmt: skip
    assert {each.stat().st_mode & 0o777 for each in folder.iterdir()} == {0o600}
    before = (folder / "ca.key").read_bytes()
    said = typed("secure", "init", folder)
    assert said.code == 1 and f"{folder} has a certificate authority already. Nothing was changed." in said.err
    assert (folder / "ca.key").read_bytes() == before


def test_a_bundle_has_what_a_node_needs_and_not_the_authoritys_key(typed: Typed, folder: Path) -> None:
    said = typed("secure", "node", folder, "node-2", "--host", "kafka-2.example.org", "--host", "192.0.2.2")
    bundle = folder / "node-2"
    assert said.lines() == [
        f"{bundle} is the bundle of node-2: carry it to its machine",
        "there: barnabas up --secure --bundle node-2 --set node.id=2",
    ]
    assert {each.name for each in bundle.iterdir()} == {"node-2.pem", "ca.pem", "admin.scram"}
    assert authority.hosts_of(bundle / "node-2.pem") == {"kafka-2.example.org", "192.0.2.2"}
    credential = admin_credential(bundle)
    assert credential is not None and credential["name"] == "admin"
    ensure(bundle, "node-2", ["another.example.org"])  # as `up` does: without the key it stays what it is
    assert authority.hosts_of(bundle / "node-2.pem") == {"kafka-2.example.org", "192.0.2.2"}
    made = typed("secure", "node", folder, "node-3", "--host", "h", "--out", folder.parent / "out", "--json").json()
    assert made == {"node": "node-3", "bundle": str(folder.parent / "out")}


def test_certificates_are_renewed_with_their_names(typed: Typed, folder: Path) -> None:
    typed("secure", "node", folder, "node-1", "--host", "kafka-1.example.org", "--out", folder)
    before = (folder / "node-1.pem").read_bytes()
    said = typed("secure", "rotate", folder)
    assert said.code == 0 and f"{folder / 'node-1.pem'} is new and counts until 20" in said.out
    assert (folder / "node-1.pem").read_bytes() != before
    assert authority.hosts_of(folder / "node-1.pem") == {"kafka-1.example.org"}


def test_what_expires_soon_is_told_by_the_exit_code(
    typed: Typed, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = typed("secure", "status", folder)
    assert said.code == 0 and said.lines()[0] == "certificate expires days left"
    assert any(line.startswith("ca.pem 20") for line in said.lines())
    monkeypatch.setattr(authority, "NODE_DAYS", 10)
    typed("secure", "node", folder, "node-1", "--host", "h", "--out", folder)
    said = typed("secure", "status", folder)
    assert said.code == 1 and any(line.startswith("node-1.pem") and line.endswith(" 9") for line in said.lines())
    assert f"a certificate expires within 30 days. Renew them: barnabas secure rotate {folder}" in said.err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("node", "FOLDER", "a/b", "--host", "h"), 2, "'a/b' is not a name for a node"),
        (("node", "EMPTY", "node-1", "--host", "h"), 1, "is not there, so no certificate can be made. Begin with:"),
        (("rotate", "EMPTY"), 1, "has no certificates of nodes. See the folder with: barnabas secure status DIR"),
        (("status", "EMPTY"), 1, "has no certificates. Make some (barnabas up --secure)"),
    ],
)
def test_what_cannot_be_done(
    typed: Typed, folder: Path, tmp_path: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    places = {"FOLDER": str(folder), "EMPTY": str(tmp_path / "empty")}
    said = typed("secure", *(places.get(word, word) for word in words))
    assert said.code == code and told in said.err and said.err.count("\n") == 1


def test_an_authority_that_cannot_be_read(typed: Typed, folder: Path) -> None:
    (folder / "ca.pem").write_text("nothing")
    said = typed("secure", "node", folder, "node-1", "--host", "h")
    assert said.code == 1 and f"{folder} has no certificate authority that can be read" in said.err


def test_a_secret_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(fd: int) -> None:
        raise OSError("the disk is full")

    write_secret(tmp_path / "secret", b"old")
    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="the disk is full"):
        write_secret(tmp_path / "secret", b"new")
    assert (tmp_path / "secret").read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1
