"""Settings that name zones which are not there: said, not refused."""

import pytest

from barnabas.cli.common.zone_settings import warnings


@pytest.mark.parametrize(
    ("changes", "zones", "said"),
    [
        ({"leader.preferred.racks": "a, b"}, "ab", []),
        ({"leader.preferred.racks": "a,d,e"}, "ba", ["no node that is up is in d, e; the zones are a, b."]),
        ({"leader.preferred.racks": "a"}, "", ["no node that is up is in a; no node names a zone"]),
        ({"leader.preferred.racks": ""}, "", []),
        ({"min.insync.zones": "2"}, "ab", []),
        ({"min.insync.zones": "1"}, "", []),  # off
        ({"min.insync.zones": "3"}, "ab", ["min.insync.zones=3: the nodes that are up are in 2; the zones are a, b."]),
        ({"min.insync.zones": "2"}, "", ["min.insync.zones=2: the nodes that are up are in 0; no node names a zone"]),
        ({"min.insync.zones": "many", "retention.ms": "5"}, "", []),  # refused by the cluster
    ],
)
def test_what_is_said(changes: dict[str, str], zones: str, said: list[str]) -> None:
    found = list(warnings(changes, set(zones)))
    assert len(found) == len(said)
    assert all(part in text for part, text in zip(said, found, strict=True)), found
