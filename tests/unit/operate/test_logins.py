"""Whether anybody can log in, by the settings of a node."""

from __future__ import annotations

import pytest

from barnabas.operate.access.logins import has_logins

MAP = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"


@pytest.mark.parametrize(
    ("listeners", "protocols", "there_are"),
    [
        ("PLAINTEXT://127.0.0.1:9092", MAP, False),
        ("SSL://:9093, PLAINTEXT://:9092", MAP, False),
        ("PLAINTEXT://:9092,SASL_SSL://:9093", MAP, True),
        ("OUTSIDE://:9092", "OUTSIDE:SASL_SSL", True),
        ("outside://:9092", "OUTSIDE:sasl_plaintext", True),
        ("OUTSIDE://:9092,CONTROLLER://:9093", "OUTSIDE:SSL,CONTROLLER:SASL_SSL", False),
        ("SASL_SSL://:9092", "", True),
        ("", "", True),
    ],
)
def test_logins(listeners: str, protocols: str, there_are: bool) -> None:
    settings = {
        "listeners": listeners or None,
        "listener.security.protocol.map": protocols,
        "controller.listener.names": "CONTROLLER",
    }
    assert has_logins(settings) is there_are


def test_a_node_that_tells_nothing_is_believed_to_have_them() -> None:
    assert has_logins({})
