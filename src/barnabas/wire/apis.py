"""The APIs a node serves, with their versions: what ApiVersions advertises and what dispatch lets through.

Ranges are those of Kafka 4.3, as far as our schema files know them. Produce 0-2 are advertised and refused: older
librdkafka compresses only when it sees Produce 0 (`advertised_min_version`). What is not in the table is not
advertised: share and streams groups. Telemetry is advertised where telemetry.receiver.enable is on.
A row says all that is special about an API; dispatch, the coordinators and ApiVersions are made from it.
"""

from msgspec import Struct

from barnabas.model.access import AclOperation
from barnabas.model.limits import (
    ACL_FILTERS_PER_REQUEST_MAX,
    ACLS_PER_REQUEST_MAX,
    ASSIGNED_ELEMENTS_MAX,
    DELEGATION_TOKEN_RENEWERS_MAX,
    DELETED_TOPICS_MAX,
    FETCHED_ELEMENTS_MAX,
    LOOKED_UP_ELEMENTS_MAX,
    NAMED_ELEMENTS_MAX,
    QUOTA_ELEMENTS_MAX,
    REQUEST_ELEMENTS_MAX,
    SCRAM_CHANGES_MAX,
)

NEVER_FLEXIBLE = 32767
GROUP, TRANSACTION = "group", "transaction"
BY_ITEM, OPEN = "by item", "open"
DESCRIBE, ALTER, DESCRIBE_CONFIGS_OF_CLUSTER = AclOperation.DESCRIBE, AclOperation.ALTER, AclOperation.DESCRIBE_CONFIGS
CLUSTER_ACTION, ALTER_CONFIGS_OF_CLUSTER = AclOperation.CLUSTER_ACTION, AclOperation.ALTER_CONFIGS


class Api(Struct, frozen=True):
    """`min_version` to `max_version` are answered; `first_flexible` is the first with compact types and tags."""

    key: int
    name: str
    min_version: int
    max_version: int
    first_flexible: int
    access: AclOperation | str  # needed on the cluster; or BY_ITEM: the handler asks for each topic, group ...; or OPEN
    lowest_advertised: int | None = None
    between_nodes: bool = False  # served, and not told to clients, as on a Kafka broker's listener
    by_controllers: bool = False  # a listener of the controllers serves it as well; it serves what nodes say anyway
    quorum_only: bool = False  # where the controllers have a listener of their own, nowhere else
    while_starting: bool = False  # before the node is registered, for nodes that join; what nodes say is anyway
    forwarded: bool = False  # only the active controller answers it; other nodes hand it on in an Envelope
    enveloped: bool = True  # may come in an Envelope
    only_reads: bool = False  # leads to no record: nothing has to be in sync, or caught up with
    known_clients_only: bool = False  # refused to who has not proved who it is, or has by a delegation token
    coordinator: str = ""  # GROUP or TRANSACTION: which one answers it
    telemetry: bool = False  # advertised while the node takes metrics of clients (telemetry.receiver.enable)
    explains: bool = False  # a refusal has an error_message beside its error_code (broker/api/failures.py)
    elements_max: int = REQUEST_ELEMENTS_MAX  # of all arrays of a request; one with more is refused like one cut short

    @property
    def advertised_min_version(self) -> int:
        return self.min_version if self.lowest_advertised is None else self.lowest_advertised

    def serves(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version


PRODUCE, FETCH, LIST_OFFSETS, METADATA = 0, 1, 2, 3
OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = range(8, 15)
DESCRIBE_GROUPS, LIST_GROUPS, API_VERSIONS, CREATE_TOPICS, DELETE_TOPICS, DELETE_RECORDS = 15, 16, 18, 19, 20, 21
INIT_PRODUCER_ID, OFFSET_FOR_LEADER_EPOCH = 22, 23
SASL_HANDSHAKE, SASL_AUTHENTICATE, ALTER_CLIENT_QUOTAS, ALTER_USER_SCRAM_CREDENTIALS = 17, 36, 49, 51
ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, WRITE_TXN_MARKERS, TXN_OFFSET_COMMIT = range(24, 29)
DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS = 61, 65, 66
DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS, DESCRIBE_CLIENT_QUOTAS, DESCRIBE_USER_SCRAM_CREDENTIALS = 29, 30, 31, 48, 50
DESCRIBE_CONFIGS, ALTER_CONFIGS, ALTER_REPLICA_LOG_DIRS, DESCRIBE_LOG_DIRS, CREATE_PARTITIONS = 32, 33, 34, 35, 37
CREATE_DELEGATION_TOKEN, RENEW_DELEGATION_TOKEN, EXPIRE_DELEGATION_TOKEN, DESCRIBE_DELEGATION_TOKEN = 38, 39, 40, 41
DELETE_GROUPS, ELECT_LEADERS, INCREMENTAL_ALTER_CONFIGS, OFFSET_DELETE = 42, 43, 44, 47
DESCRIBE_QUORUM, UPDATE_FEATURES, DESCRIBE_CLUSTER, UNREGISTER_BROKER = 55, 57, 60, 64
ALTER_PARTITION_REASSIGNMENTS, LIST_PARTITION_REASSIGNMENTS = 45, 46
VOTE, BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, ALTER_PARTITION, ENVELOPE, FETCH_SNAPSHOT = 52, 53, 54, 56, 58, 59
BROKER_REGISTRATION, BROKER_HEARTBEAT, ALLOCATE_PRODUCER_IDS, CONTROLLER_REGISTRATION = 62, 63, 67, 70
ASSIGN_REPLICAS_TO_DIRS, ADD_RAFT_VOTER, REMOVE_RAFT_VOTER, UPDATE_RAFT_VOTER = 73, 80, 81, 82
CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE, LIST_CONFIG_RESOURCES, DESCRIBE_TOPIC_PARTITIONS = 68, 69, 74, 75
GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY = 71, 72
# Ours: Kafka's own keys are far below, and clients pass over what they do not know.
DESCRIBE_LINKS, DESCRIBE_SCRAM_KEYS, ALTER_LINKED_USERS = 10_000, 10_001, 10_002

_NAMED = NAMED_ELEMENTS_MAX

# fmt: off
_LOGINS_TABLE = (
    Api(SASL_HANDSHAKE, "sasl_handshake", 0, 1, NEVER_FLEXIBLE, OPEN,
        while_starting=True, by_controllers=True, enveloped=False),
    Api(SASL_AUTHENTICATE, "sasl_authenticate", 0, 2, 2, OPEN,
        while_starting=True, by_controllers=True, enveloped=False),
    Api(CREATE_DELEGATION_TOKEN, "create_delegation_token", 1, 3, 2, BY_ITEM,
        forwarded=True, by_controllers=True, known_clients_only=True, elements_max=DELEGATION_TOKEN_RENEWERS_MAX),
    Api(RENEW_DELEGATION_TOKEN, "renew_delegation_token", 1, 2, 2, BY_ITEM,
        forwarded=True, by_controllers=True, known_clients_only=True),
    Api(EXPIRE_DELEGATION_TOKEN, "expire_delegation_token", 1, 2, 2, BY_ITEM,
        forwarded=True, by_controllers=True, known_clients_only=True),
    Api(DESCRIBE_DELEGATION_TOKEN, "describe_delegation_token", 1, 3, 2, BY_ITEM,
        known_clients_only=True, elements_max=_NAMED),
)
# fmt: on
_TABLE = (
    Api(PRODUCE, "produce", 3, 13, 9, BY_ITEM, lowest_advertised=0, enveloped=False),
    Api(FETCH, "fetch", 4, 18, 12, BY_ITEM, by_controllers=True, enveloped=False, elements_max=FETCHED_ELEMENTS_MAX),
    Api(LIST_OFFSETS, "list_offsets", 1, 11, 6, BY_ITEM, elements_max=LOOKED_UP_ELEMENTS_MAX),
    Api(METADATA, "metadata", 0, 13, 9, BY_ITEM, elements_max=LOOKED_UP_ELEMENTS_MAX),
    Api(OFFSET_COMMIT, "offset_commit", 2, 10, 8, BY_ITEM, coordinator=GROUP, elements_max=_NAMED),
    Api(
        OFFSET_FETCH,
        "offset_fetch",
        1,
        10,
        6,
        BY_ITEM,
        coordinator=GROUP,
        only_reads=True,
        elements_max=LOOKED_UP_ELEMENTS_MAX,
    ),
    Api(FIND_COORDINATOR, "find_coordinator", 0, 6, 3, BY_ITEM),
    Api(JOIN_GROUP, "join_group", 0, 9, 6, BY_ITEM, coordinator=GROUP, elements_max=_NAMED),
    Api(HEARTBEAT, "heartbeat", 0, 4, 4, BY_ITEM, coordinator=GROUP, only_reads=True),
    Api(LEAVE_GROUP, "leave_group", 0, 5, 4, BY_ITEM, coordinator=GROUP, elements_max=_NAMED),
    Api(SYNC_GROUP, "sync_group", 0, 5, 4, BY_ITEM, coordinator=GROUP),
    Api(
        DESCRIBE_GROUPS,
        "describe_groups",
        0,
        6,
        5,
        BY_ITEM,
        coordinator=GROUP,
        only_reads=True,
        elements_max=_NAMED,
    ),
    Api(
        LIST_GROUPS,
        "list_groups",
        0,
        5,
        3,
        BY_ITEM,
        coordinator=GROUP,
        only_reads=True,
        elements_max=_NAMED,
    ),
    Api(API_VERSIONS, "api_versions", 0, 4, 3, OPEN, while_starting=True, by_controllers=True),
    Api(
        CREATE_TOPICS,
        "create_topics",
        2,
        7,
        5,
        BY_ITEM,
        forwarded=True,
        by_controllers=True,
        elements_max=ASSIGNED_ELEMENTS_MAX,
    ),
    Api(
        DELETE_TOPICS,
        "delete_topics",
        1,
        6,
        4,
        BY_ITEM,
        forwarded=True,
        by_controllers=True,
        elements_max=DELETED_TOPICS_MAX,
    ),
    Api(DELETE_RECORDS, "delete_records", 0, 2, 2, BY_ITEM),
    Api(INIT_PRODUCER_ID, "init_producer_id", 0, 6, 2, BY_ITEM),
    Api(OFFSET_FOR_LEADER_EPOCH, "offset_for_leader_epoch", 2, 4, 4, BY_ITEM),
    Api(
        ADD_PARTITIONS_TO_TXN,
        "add_partitions_to_txn",
        0,
        5,
        3,
        BY_ITEM,
        coordinator=TRANSACTION,
        elements_max=_NAMED,
    ),
    Api(ADD_OFFSETS_TO_TXN, "add_offsets_to_txn", 0, 4, 3, BY_ITEM, coordinator=TRANSACTION),
    Api(END_TXN, "end_txn", 0, 5, 3, BY_ITEM, coordinator=TRANSACTION),
    Api(WRITE_TXN_MARKERS, "write_txn_markers", 1, 2, 1, BY_ITEM, elements_max=_NAMED),
    Api(TXN_OFFSET_COMMIT, "txn_offset_commit", 0, 5, 3, BY_ITEM, coordinator=GROUP, elements_max=_NAMED),
    Api(DESCRIBE_ACLS, "describe_acls", 1, 3, 2, DESCRIBE, by_controllers=True, explains=True),
    Api(
        CREATE_ACLS,
        "create_acls",
        1,
        3,
        2,
        ALTER,
        forwarded=True,
        by_controllers=True,
        elements_max=ACLS_PER_REQUEST_MAX,
    ),
    Api(
        DELETE_ACLS,
        "delete_acls",
        1,
        3,
        2,
        ALTER,
        forwarded=True,
        by_controllers=True,
        elements_max=ACL_FILTERS_PER_REQUEST_MAX,
    ),
    Api(
        DESCRIBE_CONFIGS, "describe_configs", 1, 4, 4, BY_ITEM, by_controllers=True, elements_max=ASSIGNED_ELEMENTS_MAX
    ),
    Api(
        ALTER_CONFIGS,
        "alter_configs",
        0,
        2,
        2,
        BY_ITEM,
        forwarded=True,
        by_controllers=True,
        elements_max=_NAMED,
    ),
    Api(ALTER_REPLICA_LOG_DIRS, "alter_replica_log_dirs", 1, 2, 2, ALTER),
    Api(DESCRIBE_LOG_DIRS, "describe_log_dirs", 1, 5, 2, DESCRIBE),
    Api(
        CREATE_PARTITIONS,
        "create_partitions",
        0,
        3,
        2,
        BY_ITEM,
        forwarded=True,
        by_controllers=True,
        elements_max=ASSIGNED_ELEMENTS_MAX,
    ),
    Api(DELETE_GROUPS, "delete_groups", 0, 2, 2, BY_ITEM, coordinator=GROUP),
    Api(ELECT_LEADERS, "elect_leaders", 0, 2, 2, ALTER, forwarded=True, by_controllers=True, explains=True),
    Api(
        INCREMENTAL_ALTER_CONFIGS,
        "incremental_alter_configs",
        0,
        1,
        1,
        BY_ITEM,
        forwarded=True,
        by_controllers=True,
        elements_max=_NAMED,
    ),
    Api(
        ALTER_PARTITION_REASSIGNMENTS,
        "alter_partition_reassignments",
        0,
        1,
        0,
        ALTER,
        forwarded=True,
        by_controllers=True,
        explains=True,
        elements_max=ASSIGNED_ELEMENTS_MAX,
    ),
    Api(
        LIST_PARTITION_REASSIGNMENTS,
        "list_partition_reassignments",
        0,
        0,
        0,
        DESCRIBE,
        forwarded=True,
        only_reads=True,
        by_controllers=True,
        explains=True,
        elements_max=LOOKED_UP_ELEMENTS_MAX,
    ),
    Api(OFFSET_DELETE, "offset_delete", 0, 0, NEVER_FLEXIBLE, BY_ITEM, coordinator=GROUP),
    Api(DESCRIBE_CLIENT_QUOTAS, "describe_client_quotas", 0, 1, 1, DESCRIBE_CONFIGS_OF_CLUSTER),
    Api(
        ALTER_CLIENT_QUOTAS,
        "alter_client_quotas",
        0,
        1,
        1,
        ALTER_CONFIGS_OF_CLUSTER,
        forwarded=True,
        by_controllers=True,
        elements_max=QUOTA_ELEMENTS_MAX,
    ),
    Api(
        DESCRIBE_USER_SCRAM_CREDENTIALS,
        "describe_user_scram_credentials",
        0,
        0,
        0,
        DESCRIBE,
        by_controllers=True,
        elements_max=_NAMED,
    ),
    Api(
        ALTER_USER_SCRAM_CREDENTIALS,
        "alter_user_scram_credentials",
        0,
        0,
        0,
        ALTER,
        forwarded=True,
        by_controllers=True,
        elements_max=SCRAM_CHANGES_MAX,
    ),
    Api(
        DESCRIBE_QUORUM,
        "describe_quorum",
        0,
        2,
        0,
        BY_ITEM,
        forwarded=True,
        only_reads=True,
        while_starting=True,
        by_controllers=True,
        elements_max=_NAMED,
    ),
    Api(ALTER_PARTITION, "alter_partition", 2, 3, 0, CLUSTER_ACTION, between_nodes=True, elements_max=_NAMED),
    Api(
        UPDATE_FEATURES,
        "update_features",
        0,
        2,
        0,
        ALTER,
        forwarded=True,
        by_controllers=True,
        explains=True,
        elements_max=_NAMED,
    ),
    Api(
        DESCRIBE_CLUSTER, "describe_cluster", 0, 2, 0, BY_ITEM, while_starting=True, by_controllers=True, explains=True
    ),
    Api(DESCRIBE_PRODUCERS, "describe_producers", 0, 0, 0, BY_ITEM),
    Api(UNREGISTER_BROKER, "unregister_broker", 0, 0, 0, ALTER, forwarded=True, by_controllers=True, explains=True),
    Api(DESCRIBE_TRANSACTIONS, "describe_transactions", 0, 0, 0, BY_ITEM, coordinator=TRANSACTION, only_reads=True),
    Api(LIST_TRANSACTIONS, "list_transactions", 0, 2, 0, BY_ITEM, coordinator=TRANSACTION, only_reads=True),
    Api(CONSUMER_GROUP_HEARTBEAT, "consumer_group_heartbeat", 0, 1, 0, BY_ITEM, coordinator=GROUP, explains=True),
    Api(
        CONSUMER_GROUP_DESCRIBE,
        "consumer_group_describe",
        0,
        1,
        0,
        BY_ITEM,
        coordinator=GROUP,
        only_reads=True,
        elements_max=_NAMED,
    ),
    Api(ASSIGN_REPLICAS_TO_DIRS, "assign_replicas_to_dirs", 0, 0, 0, CLUSTER_ACTION, between_nodes=True),
    Api(LIST_CONFIG_RESOURCES, "list_config_resources", 0, 1, 0, DESCRIBE_CONFIGS_OF_CLUSTER),
    Api(DESCRIBE_TOPIC_PARTITIONS, "describe_topic_partitions", 0, 0, 0, BY_ITEM, elements_max=_NAMED),
    Api(VOTE, "vote", 0, 2, 0, CLUSTER_ACTION, between_nodes=True, quorum_only=True),
    Api(BEGIN_QUORUM_EPOCH, "begin_quorum_epoch", 0, 1, 1, CLUSTER_ACTION, between_nodes=True, quorum_only=True),
    Api(END_QUORUM_EPOCH, "end_quorum_epoch", 0, 1, 1, CLUSTER_ACTION, between_nodes=True, quorum_only=True),
    Api(ENVELOPE, "envelope", 0, 0, 0, CLUSTER_ACTION, between_nodes=True, quorum_only=True, enveloped=False),
    Api(FETCH_SNAPSHOT, "fetch_snapshot", 0, 1, 0, CLUSTER_ACTION, between_nodes=True, quorum_only=True),
)
# fmt: off
_NODES_TABLE = (
    Api(BROKER_REGISTRATION, "broker_registration", 0, 4, 0, CLUSTER_ACTION,
        between_nodes=True, quorum_only=True, enveloped=False),
    Api(BROKER_HEARTBEAT, "broker_heartbeat", 0, 2, 0, CLUSTER_ACTION,
        between_nodes=True, quorum_only=True, enveloped=False),
    Api(ALLOCATE_PRODUCER_IDS, "allocate_producer_ids", 0, 0, 0, CLUSTER_ACTION, between_nodes=True, quorum_only=True),
    Api(CONTROLLER_REGISTRATION, "controller_registration", 0, 0, 0, CLUSTER_ACTION,
        between_nodes=True, quorum_only=True),
    Api(ADD_RAFT_VOTER, "add_raft_voter", 0, 1, 0, ALTER,
        forwarded=True, while_starting=True, by_controllers=True, elements_max=_NAMED),
    Api(REMOVE_RAFT_VOTER, "remove_raft_voter", 0, 0, 0, ALTER,
        forwarded=True, while_starting=True, by_controllers=True),
    Api(UPDATE_RAFT_VOTER, "update_raft_voter", 0, 0, 0, CLUSTER_ACTION,
        between_nodes=True, quorum_only=True, elements_max=_NAMED),
)
_TELEMETRY_TABLE = (  # no rights are needed, as in Kafka: a subscription says which clients push
    Api(GET_TELEMETRY_SUBSCRIPTIONS, "get_telemetry_subscriptions", 0, 0, 0, OPEN, telemetry=True, enveloped=False),
    Api(PUSH_TELEMETRY, "push_telemetry", 0, 0, 0, OPEN, telemetry=True, enveloped=False),
)
_LINKS_TABLE = (
    Api(DESCRIBE_LINKS, "describe_links", 0, 0, 0, DESCRIBE, explains=True, elements_max=_NAMED),
    Api(DESCRIBE_SCRAM_KEYS, "describe_scram_keys", 0, 0, 0, CLUSTER_ACTION,
        known_clients_only=True, enveloped=False, explains=True),
    Api(ALTER_LINKED_USERS, "alter_linked_users", 0, 0, 0, CLUSTER_ACTION,
        between_nodes=True, quorum_only=True, explains=True, elements_max=SCRAM_CHANGES_MAX),
)
# fmt: on

SERVED: dict[int, Api] = {
    api.key: api for api in (*_TABLE, *_NODES_TABLE, *_LOGINS_TABLE, *_TELEMETRY_TABLE, *_LINKS_TABLE)
}


def elements_max(api_key: int) -> int:
    """How many elements all arrays of such a request may have; one with more is not decoded, as one that is cut."""
    api = SERVED.get(api_key)
    return REQUEST_ELEMENTS_MAX if api is None else api.elements_max
