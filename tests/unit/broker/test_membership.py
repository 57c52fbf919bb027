"""What settings say about the quorum, and the file that remembers an epoch and a vote."""

from pathlib import Path

import pytest

from barnabas.broker.quorum.membership import derived_cluster_id, initial_voters, parse_voters, plan, raft_config
from barnabas.broker.quorum.state_file import FILE, read_state, write_state
from barnabas.core.raft import Endpoint, PersistentState, ReplicaKey
from barnabas.model.errors import KafkaError
from barnabas.model.ids import ZERO_UUID, parse_uuid
from barnabas.model.settings import Settings
from barnabas.storage.directory import DirectoryError
from barnabas.storage.disk import DISK

VOTERS = "1@a:9092,2@b:9093,3@[::1]:9094"
OWN = Endpoint("PLAINTEXT", "me", 9092)
DISK_ID = bytes(15) + b"\x07"


def settings(**given: str) -> Settings:
    return Settings({name.replace("_", "."): value for name, value in given.items()})


def test_nobody_named_is_a_quorum_of_one() -> None:
    made = plan(settings(), 5)
    assert made.alone and made.roles == {"broker", "controller"}
    (voter,) = (initial_voters(made, 5, DISK_ID, OWN) or pytest.fail("no voters")).voters
    assert (voter.id, voter.directory_id, voter.endpoints) == (5, DISK_ID, (OWN,))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "0.0.0.0", "me.example.org", "told.example.org"])
def test_a_node_that_would_only_ask_itself_is_a_quorum_of_one(host: str) -> None:
    given = {
        "listeners": "PLAINTEXT://:9092,CONTROLLER://0.0.0.0:9093",
        "advertised_listeners": "PLAINTEXT://told.example.org:9092",
        "controller_listener_names": "CONTROLLER",
    }
    assert plan(settings(controller_quorum_bootstrap_servers=f"{host}:9093", **given), 1, "me.example.org").alone
    for others in (f"{host}:9094", f"{host}:9093,other:9093", "other:9093"):
        assert not plan(settings(controller_quorum_bootstrap_servers=others, **given), 1, "me.example.org").alone


def test_another_loopback_address_is_another_node() -> None:
    """Three nodes on one machine, told apart by 127.0.0.1, .2 and .3: the second must not found a cluster."""
    asks = {"controller_quorum_bootstrap_servers": "127.0.0.1:9092"}
    assert not plan(settings(listeners="PLAINTEXT://127.0.0.2:9092", **asks), 2, "me").alone
    assert not plan(settings(listeners="PLAINTEXT://10.0.0.2:9092", **asks), 2, "me").alone
    assert plan(settings(listeners="PLAINTEXT://127.0.0.1:9092", **asks), 1, "me").alone
    assert plan(settings(listeners="PLAINTEXT://localhost:9092", **asks), 1, "me").alone


def test_static_voters_have_disks_nobody_knows_yet() -> None:
    made = plan(settings(controller_quorum_voters=VOTERS), 2)
    voters = initial_voters(made, 2, DISK_ID, OWN)
    assert voters is not None and [voter.id for voter in voters.voters] == [1, 2, 3]
    assert {voter.directory_id for voter in voters.voters} == {ZERO_UUID}
    assert voters.voters[2].address == Endpoint("PLAINTEXT", "::1", 9094)
    config = raft_config(settings(), made, 2, DISK_ID, "c", OWN)
    assert config.endpoints == (Endpoint("PLAINTEXT", "b", 9093),), "where the others were told to find it"
    assert config.auto_join and len(config.bootstrap_servers) == 2


def test_a_node_that_joins_names_no_voters() -> None:
    given = settings(controller_quorum_bootstrap_servers="a:1,b:2")
    made = plan(given, 9)
    assert initial_voters(made, 9, DISK_ID, OWN) is None
    config = raft_config(given, made, 9, DISK_ID, "c", OWN)
    assert not config.auto_join and [server.port for server in config.bootstrap_servers] == [1, 2]


@pytest.mark.parametrize(
    "given",
    [
        {"controller_quorum_voters": "1@a"},
        {"controller_quorum_voters": "a:9092"},
        {"controller_quorum_voters": "x@a:9092"},
        {"controller_quorum_voters": "1@a:9092,1@b:9092"},
        {"controller_quorum_voters": "1@a:0"},
        {"controller_quorum_bootstrap_servers": "a"},
        {"process_roles": "broker"},
        {"process_roles": "broker", "controller_quorum_voters": VOTERS},
    ],
)
def test_what_cannot_be_is_said_in_a_line(given: dict[str, str]) -> None:
    with pytest.raises(KafkaError) as refused:
        plan(settings(**given), 1)
    assert "\n" not in refused.value.message and any(name in refused.value.message for name in ("voters", "bootstrap"))


def test_the_same_voters_make_the_same_cluster() -> None:
    one = derived_cluster_id(parse_voters(("1@a:1", "2@b:2")))
    assert one == derived_cluster_id(parse_voters(("2@b:2", "1@a:1"))) and len(parse_uuid(one)) == 16
    assert one != derived_cluster_id(parse_voters(("1@a:1", "2@b:3")))
    assert not any(derived_cluster_id({1: ("a", port)}).startswith("-") for port in range(1, 300))


@pytest.mark.parametrize(
    "state",
    [
        PersistentState(),
        PersistentState(7, ReplicaKey(2, DISK_ID), None),
        PersistentState(8, None, 3),
        PersistentState(9, ReplicaKey(1, DISK_ID), 1),
        PersistentState(2, None, 3, new=True),
    ],
)
def test_a_vote_is_remembered(tmp_path: Path, state: PersistentState) -> None:
    write_state(DISK, str(tmp_path), PersistentState(1))
    write_state(DISK, str(tmp_path), state)
    assert read_state(DISK, str(tmp_path)) == state


def test_a_vote_that_cannot_be_read_is_not_given_again(tmp_path: Path) -> None:
    assert read_state(DISK, str(tmp_path)) == PersistentState()
    assert read_state(DISK, str(tmp_path), new=True) == PersistentState(new=True)
    for damaged in (b"", b"{}", b'{"leaderEpoch":"x"}', b"[]", b'{"leaderEpoch":1,"votedId":2,"votedDirectoryId":"?"}'):
        (tmp_path / FILE).write_bytes(damaged)
        with pytest.raises(DirectoryError, match="quorum-state"):
            read_state(DISK, str(tmp_path))
    write_state(DISK, str(tmp_path), PersistentState(7, ReplicaKey(2, DISK_ID), None))
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole.replace(b'"leaderEpoch":7', b'"leaderEpoch":5'))
    with pytest.raises(DirectoryError, match="checksum"):
        read_state(DISK, str(tmp_path))
    (tmp_path / FILE).write_bytes(b'{"leaderId":-1,"leaderEpoch":7,"votedId":-1,"data_version":1}')  # Kafka's own
    assert read_state(DISK, str(tmp_path)) == PersistentState(7)
