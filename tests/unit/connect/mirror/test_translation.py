"""Offsets of groups at both sides of a flow: never beyond records that the group has not read."""

from __future__ import annotations

import msgspec
import pytest

from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.connectors.mirror import groups
from barnabas.connect.connectors.mirror.flow_back import SETTLE_S, FlowBack
from barnabas.connect.connectors.mirror.group_offsets import Listing, Offsets
from barnabas.connect.connectors.mirror.groups import Translation
from barnabas.connect.connectors.mirror.maps import Maps
from barnabas.connect.connectors.mirror.names import Naming
from barnabas.connect.connectors.mirror.offset_map import OffsetMap
from barnabas.connect.definition.definition import Definition

ORDERS, COPY = ("orders", 0), ("east.orders", 0)


def _position(copied: OffsetMap) -> bytes:
    return msgspec.json.encode({"offset": copied.last.source, "id": "", "map": copied.encoded()})


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Translation:
    """A copy that began at offset 5000 of the source: 100 records."""
    monkeypatch.setattr(Maps, "refresh", lambda _: None)
    made = Translation(Naming("east", "west"), Cluster("127.0.0.1:1"), Cluster("127.0.0.1:2"))
    copied = OffsetMap.beginning_at(5000)
    copied.extend([(5000, 100)], 5100, [(0, 100)])
    made.maps._rows[ORDERS] = _position(copied)
    made.refresh()
    return made


def _log_starts_at(monkeypatch: pytest.MonkeyPatch, offset: int) -> None:
    def found(_: Cluster, places: list[tuple[str, int]]) -> Offsets:
        return dict.fromkeys(places, offset)

    monkeypatch.setattr(groups, "log_starts", found)


def test_a_group_before_the_copy_is_moved_at_neither_side(late: Translation, monkeypatch: pytest.MonkeyPatch) -> None:
    _log_starts_at(monkeypatch, 0)
    assert late.to_target(ORDERS, 400) is None, "400 to 4999 are not at the target"
    assert late.to_target(ORDERS, 5000) == (0, 0)
    assert late.to_target(ORDERS, 5040) == (40, 0)

    assert late.to_source(COPY, 0, {}) is None, "it has read nothing of the copy"
    assert late.to_source(COPY, 40, {ORDERS: 400}) is None, "400 to 4999 would be missed"
    assert late.to_source(COPY, 40, {ORDERS: 5000}) == (ORDERS, (5040, 0))
    assert late.to_source(COPY, 40, {}) == (ORDERS, (5040, 0))


def test_what_the_source_has_deleted_holds_no_group_up(late: Translation, monkeypatch: pytest.MonkeyPatch) -> None:
    _log_starts_at(monkeypatch, 5000)
    assert late.to_target(ORDERS, 400) == (0, 0)
    assert late.to_source(COPY, 40, {ORDERS: 400}) == (ORDERS, (5040, 0))


@pytest.fixture
def same(monkeypatch: pytest.MonkeyPatch) -> tuple[Translation, FlowBack]:
    """The same names on both sides; 100 records of east are in west, behind 50 of its own."""
    monkeypatch.setattr(Maps, "refresh", lambda _: None)
    monkeypatch.setattr(FlowBack, "refresh", lambda _: None)
    made = Translation(Naming("east", "west", True), Cluster("127.0.0.1:1"), Cluster("127.0.0.1:2"))
    copied = OffsetMap.beginning_at(0)
    copied.extend([(0, 100)], 100, [(50, 100)])
    made.maps._rows[ORDERS] = _position(copied)
    made.refresh()
    assert made._back is not None
    return made, made._back


def test_same_names_wait_for_the_map_of_the_flow_back(same: tuple[Translation, FlowBack]) -> None:
    translation, back = same
    assert translation.to_target(ORDERS, 100) is None, "it is not known yet whether there is a flow back"
    assert translation.may_have_flow_back
    back._learn(_defined(topics=["orders"], same_names=True))
    assert translation.to_target(ORDERS, 100) is None, "50 records of west come to east, and were not read there"
    assert translation.may_have_flow_back
    copied = OffsetMap.beginning_at(0)
    back._maps._rows[ORDERS] = _position(copied)
    assert translation.to_target(ORDERS, 100) == (0, 0)
    copied.extend([(0, 50)], 50, [(100, 50)])
    back._maps._rows[ORDERS] = _position(copied)
    assert translation.to_target(ORDERS, 120) == (20, 0)


@pytest.mark.parametrize("options", [{"topics": ["others"], "same_names": True}, {"topics": ["orders"]}])
def test_a_flow_back_of_other_topics_or_names_is_not_waited_for(
    same: tuple[Translation, FlowBack], options: dict[str, object]
) -> None:
    same[1]._learn(_defined(**options))
    assert same[0].to_target(ORDERS, 100) == (150, 0)


def test_it_takes_a_while_to_know_that_there_is_no_flow_back(same: tuple[Translation, FlowBack]) -> None:
    translation, back = same
    back._learn(None)
    assert translation.to_target(ORDERS, 100) is None
    assert back._missing_since is not None
    back._missing_since -= SETTLE_S
    assert translation.to_target(ORDERS, 100) == (150, 0)
    assert not translation.may_have_flow_back


def _defined(**options: object) -> Definition:
    return Definition(name="mirror-west-east", side="source", connector="mirror", options=options, topic="{topic}")


def test_offsets_that_are_not_known_are_not_none() -> None:
    whole, partly = Listing({"billing": True}, True), Listing({"billing": True}, False)
    assert whole.known("billing", {"billing": {ORDERS: 7}}) == {ORDERS: 7}
    assert whole.known("billing", {}) is None  # its coordinator moves
    assert whole.known("other", {}) == {}
    assert partly.known("other", {}) is None  # it may be on the node that did not answer
