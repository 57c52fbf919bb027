"""The wheel, as somebody would install it: into an empty venv, and a node, a producer and a consumer run from there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.support.figures import ROOT

WAIT_S = 60


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: setuptools leaves its folders in the source."""
    source = tmp_path_factory.mktemp("wheel") / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(source.parent),
    ]
    done = subprocess.run(
        [*command, "-w", str(source.parent), str(source)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    (built,) = source.parent.glob("barnabas-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a venv that has the wheel. What the wheel needs is read from the venv of the tests, whose own
    installation of the source does not come along: a .pth in a folder that a .pth names is not read."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, timeout=WAIT_S)
    (packages,) = venv.glob("lib/python*/site-packages")
    (packages / "needs.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python")]
    done = subprocess.run(
        [*pip, "install", "-q", "--no-deps", "--no-index", "--force-reinstall", str(wheel)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert done.returncode == 0, done.stderr
    return venv / "bin"


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("BARNABAS_", "PYTHON"))}


def run(*words: str | Path, stdin: str = "") -> str:
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, env=environment(), timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_node_a_producer_and_a_consumer_run_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    barnabas = installed / "barnabas"
    program = "import barnabas, barnabas.wire, importlib.metadata as m; print(barnabas.__file__, m.version('barnabas'))"
    place, version = run(installed / "python", "-c", program).split()
    assert Path(place).is_relative_to(installed.parent), "the source was imported, not the wheel"
    assert version in run(barnabas, "--version")
    command: list[str | Path] = [barnabas, "up", "-q", "--port", "0", "--data", str(tmp_path / "data")]
    node = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    try:
        assert node.stdout is not None
        bootstrap = node.stdout.readline().split()[-1]
        run(barnabas, "produce", "letters", "-b", bootstrap, stdin="hello\n")
        assert run(barnabas, "consume", "letters", "--from", "beginning", "-b", bootstrap) == "hello\n"
        node.send_signal(signal.SIGTERM)
        assert node.wait(WAIT_S) == 0
    finally:
        node.kill()
        node.communicate()


def test_the_wheel_has_types_and_schemas_and_nothing_of_the_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
    assert "barnabas/py.typed" in names
    source = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "barnabas").rglob("*.json")}
    assert source and source <= names
    assert not [name for name in names if not name.startswith("barnabas")]
