"""Every scenario file says what happens now. After a change that is meant, regenerate and read the difference:

    TXN_SCENARIOS=rewrite pytest tests/unit/txn/test_scenarios.py

The files in scenarios/kafka hold the answers of Apache Kafka 4.3.1, recorded once (TXN_KAFKA=host:port records them
again); they are never rewritten from our own.
"""

import os
from pathlib import Path

import pytest

from tests.unit.txn.real_kafka import recorded
from tests.unit.txn.scenarios import replayed

_FOLDER = Path(__file__).parent / "scenarios"


@pytest.mark.parametrize("path", sorted(_FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_a_scenario_happens_as_written(path: Path) -> None:
    happened = replayed(path.read_text())
    if os.environ.get("TXN_SCENARIOS") == "rewrite":
        path.write_text(happened)
    assert path.read_text() == happened


@pytest.mark.parametrize("path", sorted(_FOLDER.glob("kafka/*.txt")), ids=lambda path: path.stem)
def test_the_answers_are_those_of_apache_kafka(path: Path) -> None:
    address = os.environ.get("TXN_KAFKA")
    if address:
        path.write_text(recorded(path.read_text(), address))
    assert path.read_text() == replayed(path.read_text())
