"""Which port of another node of the quorum is connected to while listeners change."""

import pytest

from barnabas.broker.quorum.reaching import where_reached
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.records import Endpoint as Registered
from barnabas.core.cluster.records import RegisterBroker
from barnabas.core.raft import Endpoint

BOTH = (Registered("PLAINTEXT", "PLAINTEXT", "a", 1), Registered("SECURE", "SASL_SSL", "a", 2))
IMAGE = MetadataImage().apply(
    [RegisterBroker(broker_id=7, incarnation_id=bytes(16), broker_epoch=1, endpoints=BOTH)], offset=1
)


@pytest.mark.parametrize(
    ("told", "own", "port"),
    [
        (Endpoint("PLAINTEXT", "a", 1), "PLAINTEXT", 1),
        (Endpoint("PLAINTEXT", "a", 1), "SECURE", 2),
        (Endpoint("SECURE", "a", 2), "PLAINTEXT", 1),
        (Endpoint("", "a", 1), "SECURE", 2),  # an answer of the quorum
        (Endpoint("", "a", 2), "SECURE", 2),
        (Endpoint("", "b", 9), "SECURE", 9),  # newer than the registration
        (Endpoint("SECURE", "b", 9), "SECURE", 9),
        (Endpoint("PLAINTEXT", "a", 1), "OTHER", 1),  # it has no such listener
    ],
)
def test_a_voter_is_reached_on_the_listener_of_this_node(told: Endpoint, own: str, port: int) -> None:
    assert where_reached(IMAGE, 7, told, own).port == port


def test_a_node_that_is_not_registered_is_reached_as_told() -> None:
    told = Endpoint("PLAINTEXT", "a", 1)
    assert where_reached(IMAGE, 8, told, "SECURE") is told
    assert where_reached(IMAGE, -2, told, "SECURE") is told
    configured = Endpoint("SECURE", "a", 2)
    assert where_reached(MetadataImage(), 7, told, "SECURE", configured) is configured
    newer = Endpoint("", "b", 9)  # an answer of the quorum, on our listener
    assert where_reached(MetadataImage(), 7, newer, "SECURE", configured) is newer
