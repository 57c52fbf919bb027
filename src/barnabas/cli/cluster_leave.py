"""The last steps of `barnabas cluster drain`: a node that holds nothing any more gives back its vote and its name."""

from __future__ import annotations

from barnabas.cli.cluster_view import view
from barnabas.cli.failure import Failure, warn
from barnabas.cli.wire_client import Cluster, refused
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_TOPIC
from barnabas.wire.apis import DESCRIBE_QUORUM, REMOVE_RAFT_VOTER, UNREGISTER_BROKER

_NOT_THERE = (ErrorCode.VOTER_NOT_FOUND, ErrorCode.BROKER_ID_NOT_REGISTERED)


def leave(cluster: Cluster, node: int) -> None:
    left = [each.name for each in view(cluster).partitions if node in each.replicas]
    if left:
        raise Failure(f"node {node} still has {left[0]}", f"Something was placed there meanwhile: drain {node} again.")
    _give_back_vote(cluster, node)
    answer = cluster.ask_any(UNREGISTER_BROKER, {"broker_id": node})
    if answer.error_code and answer.error_code not in _NOT_THERE:
        raise refused(answer.error_code, f"end the registration of node {node}")


def _give_back_vote(cluster: Cluster, node: int) -> None:
    asked = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]}
    answer = cluster.ask_any(DESCRIBE_QUORUM, asked)
    if answer.error_code:
        raise refused(answer.error_code, "describe the quorum")
    voters = {each.replica_id: each for each in answer.topics[0].partitions[0].current_voters}
    if node not in voters:
        return
    if len(voters) == 1:
        raise Failure(f"node {node} is the only voter of the quorum", "Add another voter first.")
    removed = cluster.ask_any(
        REMOVE_RAFT_VOTER,
        {"cluster_id": None, "voter_id": node, "voter_directory_id": voters[node].replica_directory_id},
    )
    if removed.error_code and removed.error_code not in _NOT_THERE:
        raise refused(removed.error_code, f"take back the vote of node {node}")
    if text := too_few_voters(sorted(set(voters) - {node})):
        warn(text)


def too_few_voters(left: list[int]) -> str:
    """What to tell about a quorum of so many voters; nothing when it survives the loss of one."""
    if len(left) >= 3:
        return ""
    who = f"voter, node {left[0]}" if len(left) == 1 else f"voters, nodes {' and '.join(map(str, left))}"
    return (
        f"the quorum has {len(left)} {who}, left: when one of them is down, nothing about the cluster can be changed. "
        "Make another node a voter (kafka-metadata-quorum add-controller)."
    )
