"""The last steps of `barnabas cluster drain`: a node that holds nothing any more gives back its vote and its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.cli.cluster.view import view
from barnabas.cli.cluster.voters import add_voter, promotable, quorum, remove_voter, too_few_voters
from barnabas.cli.common.cluster import Cluster, refused
from barnabas.cli.common.failure import Failure, warn
from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import UNREGISTER_BROKER

if TYPE_CHECKING:
    from barnabas.wire.messages import UnregisterBrokerResponse


def leave(cluster: Cluster, node: int, promote: int | None = None) -> None:
    left = [each.name for each in view(cluster).partitions if node in each.replicas]
    if left:
        raise Failure(f"node {node} still has {left[0]}", f"Something was placed there meanwhile: drain {node} again.")
    _give_back_vote(cluster, node, promote)
    answer: UnregisterBrokerResponse = cluster.ask_any(UNREGISTER_BROKER, {"broker_id": node})
    if answer.error_code and answer.error_code != ErrorCode.BROKER_ID_NOT_REGISTERED:
        raise refused(answer.error_code, f"end the registration of node {node}", cluster.bootstrap)


def _give_back_vote(cluster: Cluster, node: int, promote: int | None) -> None:
    if promote is not None and promote not in quorum(cluster).voters:
        add_voter(cluster, promote)  # first, so that the quorum is never smaller than it was
    others = [each for each in promotable(cluster) if each != node]  # before: a new leader has not seen them yet
    left = remove_voter(cluster, node)
    if text := too_few_voters(left, others, cluster.bootstrap):
        warn(text)


def voter_in_place_of(cluster: Cluster, node: int) -> int | None:
    """The node to promote when this one's vote goes and fewer than three would be left; None: nobody is needed, or
    nobody is there."""
    votes = quorum(cluster).voters
    if node not in votes or len(votes) > 3:
        return None
    return next((each for each in promotable(cluster) if each != node), None)
