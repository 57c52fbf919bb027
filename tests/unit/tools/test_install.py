"""What the set-up says while pip works."""

from __future__ import annotations

from pathlib import Path

from tools.install import Told, drawn, newest_size, package_of


def test_what_pip_says_in_our_words() -> None:
    told = Told()
    assert told.line("Collecting pyspark==4.3.0\n") is None
    assert told.line("  Downloading pyspark-4.3.0.tar.gz (456.3 MB)\n") == (
        "  fetching pyspark (Spark, which the pipelines run on), 456 MB"
    )
    assert told.total == 456_300_000
    assert told.line("  Downloading uvloop-0.22.1-cp311-manylinux.whl (3.8 MB)\n") is None
    assert told.fetched == 456_300_000
    assert told.line("  Building wheel for pyspark (pyproject.toml): started\n") == "  unpacking pyspark"
    assert told.total == 0
    assert told.line("Installing collected packages: pytz, uvloop, pyspark\n") == "  installing 3 packages"
    assert told.line("anything else\n") is None


def test_the_bar_fits_a_line() -> None:
    told = Told()
    assert drawn(told, 0, 3.2) == "  looking up what is needed ... 3 s"
    told.line("  Downloading pyspark-4.3.0.tar.gz (456.3 MB)\n")
    for here in (0, 100_000_000, 456_300_000, 600_000_000):
        line = drawn(told, here, 1)
        assert len(line) <= 79 and "pyspark" in line
    assert "[########################]" in drawn(told, 456_300_000, 1)


def test_names_of_files() -> None:
    assert package_of("confluent_kafka-2.16.1-cp311-cp311-manylinux_2_28_x86_64.whl") == "confluent_kafka"
    assert package_of("https://example.org/pyspark-4.3.0.tar.gz") == "pyspark"


def test_the_file_that_is_written_now(tmp_path: Path) -> None:
    assert newest_size(tmp_path) == 0
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"x" * 100)
    assert newest_size(tmp_path) == 100
