"""The schema files are what tools/schema_from_kio.py writes, no more and no less."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("kio")

ROOT = Path(__file__).resolve().parents[3]


def test_writing_them_again_changes_nothing() -> None:
    spec = importlib.util.spec_from_file_location("schema_from_kio", ROOT / "tools" / "schema_from_kio.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)

    wanted = tool.all_files()
    folder = ROOT / "src" / "barnabas" / "wire" / "schema"
    assert {path.name for path in folder.iterdir() if path.is_file()} == set(wanted)
    for name, text in wanted.items():
        assert (folder / name).read_text() == text, f"{name}: run tools/schema_from_kio.py"
