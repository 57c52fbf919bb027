"""What is wrong now is said once, with a way out."""

from barnabas.console.clusters.facts import Facts, Node
from barnabas.console.clusters.troubles import troubles
from barnabas.observe.overview import Overview

SILENT = ["node 2 does not answer: Connection refused", "node 3 does not answer: timed out"]


def test_a_node_that_is_down_is_not_also_one_that_does_not_answer() -> None:
    nodes = {number: Node(number, "127.0.0.1", 9090 + number, None, fenced=number == 2) for number in (1, 2, 3)}
    found = troubles(Facts(nodes=nodes, metrics=Overview([], [], [], SILENT)))
    assert [each.what for each in found] == ["Node 2 is down or fenced", "Node 3 does not answer: timed out"]
