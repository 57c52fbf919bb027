"""Nodes that log in at each other: by certificates under TLS, as `up --secure` sets it up, and by passwords."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import pytest

from tests.cluster.load import TimedWriter
from tests.crash.load import check_books, read_all
from tests.support.cluster import BarnabasCluster
from tests.support.nodes_security import by_password

pytestmark = pytest.mark.timeout(120)
PARTITIONS = 3
IDEMPOTENT = {"enable.idempotence": True, "message.timeout.ms": 60_000, "linger.ms": 0}
LIFETIME_MS = 2_000


def test_nodes_log_in_again_before_their_login_ends(make_cluster: Callable[..., BarnabasCluster]) -> None:
    """KIP-368: connections between nodes live on; a node that did not would be cut off every two seconds."""
    cluster = make_cluster(secured=partial(by_password, reauth_ms=LIFETIME_MS))
    cluster.create("orders", PARTITIONS, min_insync_replicas="3")
    writer = TimedWriter(cluster.bootstrap, "orders", PARTITIONS, 200, **IDEMPOTENT)
    begun = time.monotonic()
    while time.monotonic() < begun + 2.5 * LIFETIME_MS / 1000:
        writer.await_more(50)
    writer.finish()
    check_books(writer, read_all(cluster.bootstrap, "orders", PARTITIONS), idempotent=True)
    for node in cluster.nodes.values():
        assert "before the client has logged in" not in node.log_path.read_text()
