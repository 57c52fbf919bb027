"""What the set-up says while pip works, and that it mends what an interrupted one has left. pip itself runs, on wheels
that are made here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from barnabas.cli.common.installing import Told, newest_size, package_of, reason
from tests.support.wheels import environment, wheel

__all__ = ["environment"]

INSTALL = Path(__file__).parents[3] / "tools" / "install.py"


def test_what_pip_says_in_our_words() -> None:
    told = Told()
    assert told.line("Collecting pyspark==4.3.0\n") is None
    assert told.line("  Downloading pyspark-4.3.0.tar.gz (456.3 MB)\n") == (
        "fetching pyspark (Spark, which the pipelines run on), 456 MB"
    )
    assert told.total == 456_300_000
    assert told.line("  Downloading uvloop-0.22.1-cp311-manylinux.whl (3.8 MB)\n") is None
    assert told.line("  Building wheel for pyspark (pyproject.toml): started\n") == "unpacking pyspark"
    assert told.total == 0
    assert told.line("Installing collected packages: pytz, uvloop, pyspark\n") == "installing 3 packages"
    assert told.line("anything else\n") is None
    told.line("WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by 'NewConnectionError(...)'\n")
    assert told.total == 0 and told.doing == "no answer from the package index, trying again"


def test_bytes_with_and_without_a_bar() -> None:
    told = Told()
    told.line("  Downloading pyspark-4.3.0.tar.gz (456.3 MB)\n")
    assert told.bar(114_000_000) == (
        "[######..................]  114 of 456 MB  pyspark (Spark, which the pipelines run on)"
    )
    assert told.bar(456_200_000) == told.bar(600_000_000) == "unpacking pyspark (Spark, which the pipelines run on)"
    told.line("  Downloading typer-0.16.tar.gz (60.1 kB)\n")
    assert (told.bar(60_000), told.short(60_000)) == ("", "fetching typer")
    told.line("  Downloading pyspark-4.3.0.tar.gz (456.3 MB)\n")
    assert told.short(114_000_000) == "fetching pyspark (Spark, which the pipelines run on),  114 of 456 MB"


def test_names_of_files() -> None:
    assert package_of("confluent_kafka-2.16.1-cp311-cp311-manylinux_2_28_x86_64.whl") == "confluent_kafka"
    assert package_of("https://example.org/pyspark-4.3.0.tar.gz") == "pyspark"


def test_the_file_that_is_written_now(tmp_path: Path) -> None:
    assert newest_size(tmp_path) == 0
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"x" * 100)
    assert newest_size(tmp_path) == 100


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            [
                "WARNING: Retrying (Retry(total=0)) after connection broken by 'ProxyError(...)'\n",
                "ERROR: No matching distribution found for pyspark==4.3.0\n",
            ],
            "the package index cannot be reached",
        ),
        (
            ["ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"],
            "there is no space left on the disk",
        ),
        (
            ["ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n"],
            "what was fetched is not what is pinned (its hash differs)",
        ),
        (["ERROR: No matching distribution found for x==1\n"], "No matching distribution found for x==1"),
        (["Killed\n"], "Killed"),
        ([], "pip said nothing"),
    ],
)
def test_why_pip_failed(said: list[str], why: str) -> None:
    assert reason(said) == why


def install(environment: Path, requirements: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """As the Makefile does it; what is wanted lies beside the requirements."""
    env = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(requirements.parent), **more}
    words = [str(environment / "bin" / "python"), str(INSTALL), str(requirements)]
    return subprocess.run(words, capture_output=True, text=True, env=env, timeout=120)


def is_there(environment: Path, name: str) -> bool:
    return subprocess.run([environment / "bin" / "python", "-c", f"import {name}"], capture_output=True).returncode == 0


def test_an_installation_mends_what_an_interrupted_one_has_left(environment: Path, tmp_path: Path) -> None:
    pins = tmp_path / "pins.txt"
    pins.write_text(wheel(tmp_path, "harbour") + wheel(tmp_path, "lantern"))
    done = install(environment, pins)
    assert (done.returncode, done.stdout, done.stderr) == (0, "  installing 2 packages\n", "")
    assert is_there(environment, "harbour") and is_there(environment, "lantern")

    packages = next((environment / "lib").glob("python*/site-packages"))
    (packages / "harbour.py").unlink()  # as if pip had been killed before it came, with its metadata there already
    (packages / "harbour-1.dist-info" / "INSTALLER").unlink()
    left = environment / ".installing-left"
    left.mkdir()
    done = install(environment, pins)
    assert (done.returncode, done.stdout) == (0, "  installing 1 packages\n"), done.stderr
    assert is_there(environment, "harbour") and not left.exists()
    assert install(environment, pins).stdout == "", "nothing is left to be done"


def test_one_line_says_why_nothing_was_installed(environment: Path, tmp_path: Path) -> None:
    pins = tmp_path / "pins.txt"
    pins.write_text(wheel(tmp_path, "anchor").replace("anchor==1", "anchor==2"))
    done = install(environment, pins)
    assert done.returncode == 1 and not is_there(environment, "anchor")
    (line,) = done.stderr.splitlines()
    assert "could not be installed: No matching distribution found for anchor==2" in line

    pins.write_text("anchor==1 --hash=sha256:" + "0" * 64)
    done = install(environment, pins, BARNABAS_TRACE="1")
    assert done.returncode == 1 and "(its hash differs)" in done.stderr.splitlines()[-1]
    assert "DO NOT MATCH" in done.stderr, "pip's own words"
