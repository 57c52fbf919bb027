"""Where the things are that tools/setup_tests.sh brings."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBS = ROOT / ".kafka" / "libs"
CLASSES = ROOT / ".kafka" / "classes"
OAUTH_LIBS = ROOT / ".kafka" / "oauth-libs"
LOG4J = ROOT / "tests" / "java" / "log4j2.properties"
JS = ROOT / "tests" / "js"
JS_REGISTRY = JS / "registry"
GO = ROOT / ".kafka" / "go"
APICURIO = ROOT / ".kafka" / "apicurio"
NEWER_JAVA = ROOT / ".kafka" / "java"
CLASSPATH = f"{CLASSES}:{LIBS}/*"


def require_setup() -> None:
    """Fail at once, with the remedy, when the outside tools were never set up."""
    for needed in (LIBS / ".complete", CLASSES / ".complete", JS / "node_modules" / ".complete"):
        if not needed.exists():
            raise RuntimeError(f"{needed.parent} is not complete: run tools/setup_tests.sh first")


def require(folder: Path) -> Path:
    """The same for one folder that few tests need."""
    if not (folder / ".complete").exists():
        raise RuntimeError(f"{folder} is not complete: run tools/setup_tests.sh first")
    return folder


def go_program(name: str) -> Path:
    """One of tests/go, built by the same script."""
    return require(GO) / name
