"""Which error codes may be tried again, and which of them mean that metadata is stale: Kafka's exceptions say so."""

from __future__ import annotations

import subprocess

import pytest

from barnabas.link.codes import Remedy, is_retriable, remedy
from barnabas.model.errors import ErrorCode
from tests.support.paths import LIBS, ROOT, require_setup

pytestmark = [pytest.mark.timeout(120)]


def test_the_same_codes_are_retriable_as_in_kafkas_clients() -> None:
    require_setup()
    source = str(ROOT / "tests" / "java" / "RetriableCodes.java")
    done = subprocess.run(
        ["java", "-cp", f"{LIBS}/*", source], capture_output=True, text=True, check=True, timeout=100
    ).stdout
    theirs = {ErrorCode[name]: stale == "true" for name, stale in map(str.split, done.splitlines())}
    ours = {code: remedy(code) is Remedy.LEADER for code in ErrorCode if is_retriable(code)}
    assert ours == theirs
