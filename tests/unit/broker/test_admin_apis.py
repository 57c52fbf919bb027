"""The admin handlers on a node reduced to what they read: an image, settings, a controller that decides at once."""

from collections.abc import Iterator
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.access import Access
from barnabas.broker.api import (
    alter_configs,
    api_versions,
    create_acls,
    create_topics,
    delete_acls,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_topic_partitions,
    describe_user_scram_credentials,
    elect_leaders,
    incremental_alter_configs,
    list_config_resources,
    metadata,
    unregister_broker,
    update_features,
)
from barnabas.broker.audit.trail import AuditTrail
from barnabas.broker.network.addresses import advertised
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.session import Session
from barnabas.broker.peers.recently_departed import RecentlyDeparted
from barnabas.core.cluster import ConfigChange, Endpoint, NewTopic
from barnabas.core.cluster.controller import Controller
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import ZERO_UUID
from barnabas.model.settings import Settings
from barnabas.wire import codec
from barnabas.wire.apis import SERVED
from tests.unit.cluster.stage import Stage

HOST, PORT = "10.0.0.7", 9092


class FakeNode:
    def __init__(self, brokers: int = 1, **static: str) -> None:
        self.settings = Settings({name.replace("_", "."): value for name, value in static.items()})
        self.stage = Stage(brokers, settings=self.settings)
        self.node_id, self.cluster_id = 1, "cluster"
        self.endpoints = (Endpoint("PLAINTEXT", "PLAINTEXT", "0.0.0.0", PORT),)
        self.controller = self
        self.data_dir = Path("/data")
        self.quorum_ports: frozenset[int] | None = frozenset({PORT + 1})
        self.has_broker = True
        self.suspected_brokers = ()
        self.lifecycle: Any = self
        self.is_cut_off = False
        self.sends_away = lambda _: False
        self.controller_requests = self
        self.recently_departed = RecentlyDeparted()
        self.access: Access | None = None
        self.audit: AuditTrail | None = None

    @property
    def image(self) -> Any:
        return self.stage.image

    told_image = image

    async def submit(self, decide: Any, *args: Any, **named: Any) -> Any:
        return self.stage.do(decide.__name__, *args, **named)

    def charge(self, context: Any, strict_since: int) -> None:
        """Nobody has a quota."""

    async def create_topics(self, wanted: Any) -> dict[str, ErrorCode]:
        return {made.name: made.code for made in await self.submit(Controller.create_topics, wanted) if made.code}


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(codec, "STRICT", True)
    yield


def ask(node: FakeNode, module: Any, version: int, body: dict[str, Any], port: int = PORT) -> Any:
    """The answer as a client decodes it: through the codec in both directions."""
    key = next(api.key for api in SERVED.values() if api.name == module.__name__.rpartition(".")[2])
    request = codec.decode_request(key, version, codec.encode_request(key, version, body))
    context = RequestContext(key, version, 1, "c", Session("10.0.0.9", HOST, port))
    answer = module.handle(node, request, context)
    if isawaitable(answer):
        answer = _run(answer)
    data = answer if isinstance(answer, bytes) else codec.encode_response(key, version, answer)
    return codec.decode_response(key, version, data)


def _run(coroutine: Any) -> Any:
    """Nothing here waits for anything: on a slow machine the coroutine lets others on, and goes on at once."""
    try:
        while coroutine.send(None) is None:
            pass
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits for something")


def topics(answer: Any) -> list[tuple[str | None, int, int]]:
    return [(topic.name, topic.error_code, len(topic.partitions)) for topic in answer.topics]


def names(*wanted: str) -> list[dict[str, str]]:
    return [{"name": name} for name in wanted]


# --- Metadata -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(14))
def test_metadata_in_every_version(version: int) -> None:
    node = FakeNode()
    node.stage.create("a", 2)
    answer = ask(node, metadata, version, {"topics": names("a")})
    assert topics(answer) == [("a", 0, 2)]
    assert [(b.node_id, b.host, b.port) for b in answer.brokers] == [(1, HOST, PORT)]
    everything = ask(node, metadata, version, {"topics": [] if version == 0 else None})
    assert topics(everything) == [("a", 0, 2)]
    if version >= 1:
        assert topics(ask(node, metadata, version, {"topics": []})) == []
    if version >= 10:
        assert answer.topics[0].topic_id == node.image.topics["a"].id


def test_a_missing_topic_is_made_only_when_both_sides_allow_it() -> None:
    node = FakeNode()
    forbidden = {"topics": names("new"), "allow_auto_topic_creation": False}
    assert topics(ask(node, metadata, 12, forbidden)) == [("new", 3, 0)]
    assert topics(ask(node, metadata, 12, forbidden | {"allow_auto_topic_creation": True})) == [("new", 0, 1)]
    assert topics(ask(node, metadata, 0, {"topics": names("old")})) == [("old", 0, 1)]
    closed = FakeNode(auto_create_topics_enable="false")
    assert topics(ask(closed, metadata, 12, {"topics": names("new"), "allow_auto_topic_creation": True})) == [
        ("new", 3, 0)
    ]


def test_a_topic_that_is_made_by_being_asked_for_is_as_this_broker_says() -> None:
    """The controller may be a process with settings of its own."""
    node = FakeNode(num_partitions="5", default_replication_factor="2")
    node.stage = Stage(3, settings=Settings({"num.partitions": "7"}))
    (made,) = ask(node, metadata, 12, {"topics": names("new"), "allow_auto_topic_creation": True}).topics
    assert [len(partition.replica_nodes) for partition in made.partitions] == [2] * 5
    node.settings = Settings({})
    assert topics(ask(node, metadata, 12, {"topics": names("other"), "allow_auto_topic_creation": True})) == [
        ("other", 0, 7)
    ]


def test_names_no_topic_can_have_are_told_so_and_never_made() -> None:
    node = FakeNode()
    node.stage.create("c.d")
    wanted = names("a b", "nope", "c_d", "__cluster_metadata", "c.d", "c.d")
    answer = ask(node, metadata, 12, {"topics": wanted, "allow_auto_topic_creation": True})
    assert topics(answer) == [
        ("nope", 0, 1),
        ("c.d", 0, 1),
        ("c_d", 17, 0),
        ("__cluster_metadata", 3, 0),
        ("a b", 17, 0),
    ]


def test_topics_by_id() -> None:
    node = FakeNode()
    node.stage.create("a")
    wanted = [{"name": None, "topic_id": node.image.topics["a"].id}, {"name": None, "topic_id": b"x" * 16}]
    assert topics(ask(node, metadata, 12, {"topics": wanted})) == [("a", 0, 1), (None, 100, 0)]
    refused = ask(node, metadata, 10, {"topics": [{"name": "a", "topic_id": b"x" * 16}]})
    assert topics(refused) == [("a", 42, 0)] and refused.brokers == []


def test_the_cached_answer_follows_the_image_and_the_address() -> None:
    node = FakeNode()
    node.stage.create("a")
    wanted = {"topics": names("a"), "allow_auto_topic_creation": False}
    first = metadata.handle(*_call(node, wanted))
    assert metadata.handle(*_call(node, wanted)) is first
    assert ask(node, metadata, 12, wanted, port=9999).brokers[0].port == 9999
    node.stage.create("b")
    assert metadata.handle(*_call(node, wanted)) is not first
    assert topics(ask(node, metadata, 12, {"topics": None})) == [("a", 0, 1), ("b", 0, 1)]


def _call(node: FakeNode, body: dict[str, Any]) -> tuple[Any, ...]:
    request = codec.decode_request(3, 12, codec.encode_request(3, 12, body))
    return node, request, RequestContext(3, 12, 1, "c", Session("10.0.0.9", HOST, PORT))


def test_a_partition_without_a_leader_says_so() -> None:
    node = FakeNode(2)
    node.stage.do("create_topics", [NewTopic("t", assignments=[(0, [2, 1])])])
    node.stage.fence(1)
    node.stage.fence(2)
    (partition,) = (
        ask(node, metadata, 12, {"topics": names("t"), "allow_auto_topic_creation": False}).topics[0].partitions
    )
    assert (partition.error_code, partition.leader_id) == (5, -1)
    assert partition.offline_replicas == [2, 1]


def test_the_address_a_client_is_told() -> None:
    context = RequestContext(3, 12, 1, "c", Session("10.0.0.9", "::ffff:10.0.0.7", PORT))
    assert advertised(FakeNode(), 1, context) == ("10.0.0.7", PORT)
    told = FakeNode(advertised_listeners="PLAINTEXT://public.example.org:19092")
    assert advertised(told, 1, context) == ("public.example.org", 19092)
    assert advertised(FakeNode(2), 2, context) == ("host2", 9092)
    assert advertised(FakeNode(), 9, context) == ("", -1)
    named = FakeNode()
    named.endpoints = (Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", PORT),)
    assert advertised(named, 1, context) == ("localhost", PORT)


def test_a_throttle_and_a_listeners_setting_are_shown() -> None:
    node = FakeNode()
    rate, kind, secret = (
        "follower.replication.throttled.rate",
        "listener.name.internal.ssl.truststore.type",
        "listener.name.internal.ssl.keystore.password",
    )
    changes = [(rate, 0, "100"), (kind, 0, "PKCS12"), (secret, 0, "x"), ("plugin.secret", 0, "x")]
    node.stage.do("incremental_alter_configs", [ConfigChange(4, "1", changes)])
    node.stage.do("incremental_alter_configs", [ConfigChange(4, "", [(rate, 0, "90")])])
    node.settings = node.settings.with_dynamic(cluster=node.image.config(4, ""), node=node.image.config(4, "1"))
    for name, expected in (
        ("1", {rate: "100", kind: "PKCS12", secret: None, "plugin.secret": None}),
        ("", {rate: "90"}),
    ):
        body = {"resources": [{"resource_type": 4, "resource_name": name, "configuration_keys": list(expected)}]}
        configs = ask(node, describe_configs, 4, body).results[0].configs
        assert {config.name: config.value for config in configs} == expected
        assert all(config.is_sensitive == (config.value is None) and not config.read_only for config in configs)


# --- the others -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(2, 8))
def test_creating_topics_in_every_version(version: int) -> None:
    node = FakeNode()
    good = {
        "name": "a",
        "num_partitions": 3,
        "replication_factor": 1,
        "configs": [{"name": "retention.ms", "value": "5"}],
    }
    answer = ask(node, create_topics, version, {"topics": [good, good | {"name": "b c"}], "timeout_ms": 1000})
    assert [(t.name, t.error_code) for t in answer.topics] == [("a", 0), ("b c", 17)]
    if version >= 5:
        made, failed = answer.topics
        assert (made.num_partitions, made.replication_factor, len(made.configs)) == (3, 1, 33)
        (retention,) = [c for c in made.configs if c.name == "retention.ms"]
        assert (retention.value, retention.config_source) == ("5", 1)
        assert (failed.num_partitions, failed.configs) == (-1, [])


def test_deletion_that_is_off_is_told_to_old_clients_in_a_code_they_know() -> None:
    node = FakeNode(delete_topic_enable="false")
    node.stage.create("a")
    for version, code in ((1, 42), (2, 42), (3, 73), (5, 73)):
        body = {"topic_names": ["a"], "timeout_ms": 1}
        assert ask(node, delete_topics, version, body).responses[0].error_code == code
    by_id = {"topics": [{"name": None, "topic_id": node.image.topics["a"].id}], "timeout_ms": 1}
    assert ask(node, delete_topics, 6, by_id).responses[0].error_code == 73


def test_describing_settings() -> None:
    node = FakeNode()
    node.stage.create("a", retention_ms="5")
    keys = ["retention.ms", "nope"]

    def describe(kind: int, name: str, wanted: list[str] | None, version: int = 4, **flags: bool) -> Any:
        resource = {"resource_type": kind, "resource_name": name, "configuration_keys": wanted}
        return ask(node, describe_configs, version, {"resources": [resource], **flags}).results[0]

    (retention,) = describe(2, "a", keys, include_synonyms=True, include_documentation=True).configs
    assert (retention.value, retention.config_source, retention.config_type) == ("5", 1, 5)
    assert retention.documentation and [s.name for s in retention.synonyms] == ["retention.ms"]
    assert len(describe(2, "a", None).configs) == 33 == len(describe(2, "a", []).configs)
    assert len(describe(4, "1", None, 1).configs) == 340
    assert describe(2, "no", None).error_code == 3 and describe(2, "n o", None).error_code == 17
    for kind, name in ((4, "9"), (4, "x"), (8, ""), (32, ""), (16, ""), (0, "a"), (99, "a")):
        assert describe(kind, name, None).error_code == 42
    assert describe(8, "1", ["root"]).configs[0].config_source == 6


def test_altering_settings_and_log_levels() -> None:
    node = FakeNode()
    node.stage.create("a")

    def alter(kind: int, name: str, setting: str, operation: int, value: str | None) -> int:
        config = {"name": setting, "config_operation": operation, "value": value}
        body = {"resources": [{"resource_type": kind, "resource_name": name, "configs": [config]}]}
        code: int = ask(node, incremental_alter_configs, 1, body).responses[0].error_code
        return code

    assert alter(2, "a", "cleanup.policy", 2, "compact") == 0
    assert node.image.topics["a"].configs == {"cleanup.policy": "delete,compact"}
    logger = "barnabas.broker.upkeep.compactor"
    assert alter(8, "1", logger, 0, "LOUD") == 40 and alter(8, "1", "no.such", 0, "INFO") == 40
    assert alter(8, "2", "root", 0, "INFO") == 42 and alter(8, "1", "root", 2, "INFO") == 42
    body = {"resources": [{"resource_type": 2, "resource_name": "a", "configs": []}], "validate_only": False}
    assert ask(node, alter_configs, 2, body).responses[0].error_code == 0
    assert node.image.topics["a"].configs == {}


def test_describing_partitions_a_page_at_a_time() -> None:
    """Every page size walks through the same partitions, once each."""
    node = FakeNode()
    for name, count in (("b", 3), ("a", 4), ("c", 1)):
        node.stage.create(name, count)
    expected = [(name, i) for name, count in (("a", 4), ("b", 3), ("c", 1)) for i in range(count)]
    for limit in range(-1, 10):
        found, cursor = [], None
        for _ in range(20):
            body = {"topics": [], "response_partition_limit": limit, "cursor": cursor}
            answer = ask(node, describe_topic_partitions, 0, body)
            page = [(topic.name, p.partition_index) for topic in answer.topics for p in topic.partitions]
            assert len(page) <= max(limit, 1)
            found += page
            if answer.next_cursor is None:
                break
            cursor = {
                "topic_name": answer.next_cursor.topic_name,
                "partition_index": answer.next_cursor.partition_index,
            }
        assert found == expected


def test_a_cursor_that_cannot_be_is_refused() -> None:
    node = FakeNode()
    node.stage.create("a")
    for cursor in ({"topic_name": "a", "partition_index": -1}, {"topic_name": "zz", "partition_index": 0}):
        body = {"topics": names("a"), "response_partition_limit": 5, "cursor": cursor}
        assert topics(ask(node, describe_topic_partitions, 0, body)) == [("a", 42, 0)]
    body = {"topics": names("nope", "a b", "a"), "response_partition_limit": 5, "cursor": None}
    assert topics(ask(node, describe_topic_partitions, 0, body)) == [("a", 0, 1), ("a b", 17, 0), ("nope", 3, 0)]


def test_describing_the_cluster() -> None:
    node = FakeNode(2)
    node.stage.fence(2)
    assert [b.broker_id for b in ask(node, describe_cluster, 0, {}).brokers] == [1]
    fenced = ask(node, describe_cluster, 2, {"endpoint_type": 1, "include_fenced_brokers": True})
    assert [(b.broker_id, b.is_fenced) for b in fenced.brokers] == [(1, False), (2, True)]
    assert ask(node, describe_cluster, 1, {"endpoint_type": 2}).error_code == 114
    assert ask(node, describe_cluster, 1, {"endpoint_type": 3}).error_code == 115


def test_what_has_settings() -> None:
    node = FakeNode()
    node.stage.create("a")

    def listed(version: int, kinds: list[int]) -> Any:
        answer = ask(node, list_config_resources, version, {"resource_types": kinds} if version else {})
        return answer.error_code, [(r.resource_type, r.resource_name) for r in answer.config_resources]

    assert listed(0, []) == (0, [])
    assert listed(1, []) == (0, [(8, "1"), (4, "1"), (2, "a")])
    assert listed(1, [2]) == (0, [(2, "a")]) and listed(1, [99]) == (35, [])


def test_elections_and_features_answer_in_kafkas_shape() -> None:
    node = FakeNode()
    node.stage.create("a", 2)
    wanted = {"topic_partitions": [{"topic": "a", "partitions": [0, 7]}], "timeout_ms": 1}
    for version in (0, 1, 2):
        (result,) = ask(node, elect_leaders, version, wanted).replica_election_results
        assert [(p.partition_id, p.error_code) for p in result.partition_result] == [(0, 84), (7, 3)]
    assert ask(node, elect_leaders, 2, wanted | {"election_type": 7}).error_code == 42
    update = {"feature": "group.version", "max_version_level": 9, "upgrade_type": 1}
    refused = ask(node, update_features, 2, {"feature_updates": [update], "timeout_ms": 1})
    assert refused.error_code == 95
    assert refused.error_message.startswith("The update failed for all features since the following feature had an err")


def test_a_broker_that_is_up_and_has_partitions_is_not_forgotten() -> None:
    node = FakeNode(3)
    node.stage.create("orders", 2, 3)
    with pytest.raises(KafkaError) as refused:
        ask(node, unregister_broker, 0, {"broker_id": 2})
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    node.stage.fence(2)
    assert ask(node, unregister_broker, 0, {"broker_id": 2}).error_code == 0


def test_a_broker_that_was_emptied_may_be_forgotten_while_it_is_up() -> None:
    node = FakeNode(2)
    assert ask(node, unregister_broker, 0, {"broker_id": 2}).error_code == 0
    assert 2 not in node.image.brokers


@pytest.mark.parametrize("version", range(5))
def test_api_versions(version: int) -> None:
    node = FakeNode()
    client = {"client_software_name": "my-client", "client_software_version": "1.0"} if version >= 3 else {}
    answer = ask(node, api_versions, version, client)
    served = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
    assert served[0] == (0, 13) and served[18] == (0, 4)
    assert set(served) == {key for key, api in SERVED.items() if not api.between_nodes}
    if version >= 3:
        finalized = {feature.name: feature.max_version_level for feature in answer.finalized_features}
        assert finalized["group.version"] == 1 and finalized["transaction.version"] == 2
        supported = {feature.name for feature in answer.supported_features}
        assert ("group.version" in supported) == (version >= 4)
        for bad in ("", "a b", "-a"):
            assert ask(node, api_versions, version, client | {"client_software_name": bad}).error_code == 42


def test_a_listener_of_the_controllers_names_what_a_controller_answers() -> None:
    node = FakeNode()
    client = {"client_software_name": "my-client", "client_software_version": "1.0"}
    node.quorum_ports = frozenset({PORT})
    keys = {api.api_key for api in ask(node, api_versions, 4, client).api_keys}
    assert keys == {api.key for api in SERVED.values() if api.by_controllers or api.between_nodes}
    assert {1, 18, 19, 44, 52, 58, 62} <= keys and not {0, 3, 8, 11, 48} & keys
    node.quorum_ports, node.has_broker = None, False  # a controller that has the listener of a client
    assert {api.api_key for api in ask(node, api_versions, 4, client).api_keys} == keys


def test_what_is_not_served_of_security_is_answered_as_by_a_kafka_without_it() -> None:
    """MirrorMaker 2 and tools ask for ACLs, quotas and credentials, and know these answers."""
    node = FakeNode()
    any_acl = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    acl = {"resource_type": 2, "resource_name": "t", "principal": "User:a", "host": "*", "operation": 3}
    for version in (1, 2, 3):
        found = ask(node, describe_acls, version, any_acl)
        assert (found.error_code, found.error_message) == (54, "No Authorizer is configured.")
        made = ask(node, create_acls, version, {"creations": [acl | {"permission_type": 3}] * 2})
        assert [item.error_code for item in made.results] == [54, 54]
        assert [item.error_code for item in ask(node, delete_acls, version, {"filters": [any_acl]}).filter_results] == [
            54
        ]
    for version in (0, 1):
        quotas = ask(node, describe_client_quotas, version, {"components": [], "strict": False})
        assert (quotas.error_code, list(quotas.entries)) == (0, [])
    users = ask(node, describe_user_scram_credentials, 0, {"users": None})
    assert (users.error_code, list(users.results)) == (0, [])
    named = ask(node, describe_user_scram_credentials, 0, {"users": [{"name": n} for n in ("a", "b", "b")]})
    assert [(item.user, item.error_code) for item in named.results] == [("a", 91), ("b", 92)]


def test_the_replication_factor_that_is_used_is_told() -> None:
    for brokers, static, told in ((1, {}, "1"), (3, {}, "3"), (3, {"default_replication_factor": "2"}, "2")):
        node = FakeNode(brokers, **static)
        resource = {"resource_type": 4, "resource_name": "1", "configuration_keys": ["default.replication.factor"]}
        body = {"resources": [resource], "include_synonyms": True}
        (config,) = ask(node, describe_configs, 4, body).results[0].configs
        assert (config.value, config.synonyms[0].value) == (told, told)


def test_an_unknown_version_of_api_versions_gets_the_list_it_needs() -> None:
    body = codec.encode_response(18, 0, api_versions.unsupported_version_body(FakeNode()))
    answer = codec.decode_response(18, 0, body)
    assert (answer.error_code, [(a.api_key, a.max_version) for a in answer.api_keys]) == (35, [(18, 4)])


def test_zero_is_no_id() -> None:
    """Deleting by the zero id and no name deletes nothing."""
    node = FakeNode()
    node.stage.create("a")
    body = {"topics": [{"name": None, "topic_id": ZERO_UUID}], "timeout_ms": 1}
    assert ask(node, delete_topics, 6, body).responses[0].error_code == 42 and "a" in node.image.topics
