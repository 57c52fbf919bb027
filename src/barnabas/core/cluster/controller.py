"""The controller: every request that changes the cluster enters here and leaves as `(records, answer)`.

It never waits and never writes. Its driver appends the records to the metadata log, plays them onto `image` at once
(so that the next request is decided on the state this one leads to), and gives the answer and the new image to the
world when the records are safe. The controller of another node that replays the same records has the same image.

Answers are lists with one result an item. Where the protocol has one error for the whole request, KafkaError is
raised and nothing is written. Time and chance come from outside: `now_ms` is an argument, `random` and `new_id` are
given.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.core.access.bindings import AclBinding
from barnabas.core.cluster import brokers, configs, features, links, producer_ids, topics
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.items import (
    AlteredPartition,
    ConfigChange,
    ConfigResult,
    DeletedTopic,
    ElectionResult,
    FeatureUpdate,
    Heartbeat,
    HeartbeatResult,
    MorePartitions,
    NewTopic,
    OngoingMove,
    PartitionAlteration,
    Reassignment,
    ReassignmentResult,
    Registration,
    ReplicaDirectory,
    TopicResult,
)
from barnabas.core.cluster.partitions import alterations, elections, growth, reassignment, replica_dirs
from barnabas.core.cluster.partitions.assignments import Room
from barnabas.core.cluster.partitions.rules import Rules
from barnabas.core.cluster.records import ConfigRecord, Record
from barnabas.core.randomness import Random
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import ZERO_UUID
from barnabas.model.settings import ResourceType, Settings

if TYPE_CHECKING:
    from barnabas.core.access.credentials import DelegationToken
    from barnabas.core.access.delegation_tokens import TokensByHmac
    from barnabas.core.access.quotas.meters import Charge
    from barnabas.core.cluster.access.delegation_tokens import NewToken
    from barnabas.core.cluster.access.linked_users import UserKeys
    from barnabas.core.cluster.access.quotas import QuotaAlteration
    from barnabas.core.cluster.access.scram_users import ScramDeletion, ScramUpsertion, UserResult


class Controller:
    def __init__(
        self,
        image: MetadataImage,
        settings: Settings,
        *,
        random: Random,
        new_id: Callable[[], bytes],
        controllers: Callable[[], Collection[int]] = tuple,
    ) -> None:
        """`controllers`: the ids of the nodes that vote; some of them may be no brokers."""
        self.image = image
        self.settings = settings
        self.sessions = brokers.Sessions()
        self._topic_rules = Rules(settings)
        self._rules_key: tuple[Settings, Mapping[str, str], Mapping[str, str]] | None = None
        self._random = random
        self._new_id = new_id
        self._controllers = controllers
        self._tokens_by_hmac: TokensByHmac | None = None  # made by the first request for one

    # --- topics -------------------------------------------------------------------------------------------------

    def create_topics(
        self, wanted: Sequence[NewTopic], validate_only: bool = False, charge: "Charge | None" = None
    ) -> tuple[list[Record], list[TopicResult]]:
        """Each topic once, in the order of the request; a name that stands there twice gets one refusal."""
        records: list[Record] = []
        results: list[TopicResult] = []
        refused = topics.check_request(wanted, self.settings)
        collisions, room = topics.NameCollisions(self.image.topics), Room(self.image)
        for topic in {topic.name: topic for topic in wanted}.values():
            try:
                if topic.name in refused:
                    raise refused[topic.name]
                made, result = topics.new_topic(
                    self.image, self.settings, topic, self._new_id(), self._random, collisions, room
                )
                if charge is not None:
                    charge(result.num_partitions)
                collisions.add(topic.name)
                records.extend(made)
                results.append(result)
            except KafkaError as error:
                results.append(TopicResult(topic.name, error.code, error.message))
        return [] if validate_only else records, results

    def delete_topics(
        self, wanted: Sequence[tuple[str | None, bytes]], charge: "Charge | None" = None, *, linked: bool = False
    ) -> tuple[list[Record], list[DeletedTopic]]:
        """Topics by name, or by id where the name is None; `linked`: also those that a link fills."""
        records: list[Record] = []
        results: list[DeletedTopic] = []
        wanted, twice = topics.each_once(self.image, wanted)
        for name, topic_id in wanted:
            try:
                if not self.settings.bool("delete.topic.enable"):
                    raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable=false")
                if (name, topic_id) in twice:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "the topic stands in the request more than once")
                if (name is None) == (topic_id == ZERO_UUID):
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "a topic is named either by its name or by its id")
                removed, result = topics.delete_topic(self.image, name, topic_id)
                if not linked and result.name is not None:
                    links.check_not_linked(self.image, result.name)
                if charge is not None and result.name is not None:
                    charge(len(self.image.topics[result.name].partitions))
                records.extend(removed)
                results.append(result)
            except KafkaError as error:
                results.append(DeletedTopic(name, topic_id, error.code, error.message))
        return records, results

    def create_partitions(
        self,
        wanted: Sequence[MorePartitions],
        validate_only: bool = False,
        charge: "Charge | None" = None,
        *,
        linked: bool = False,
    ) -> tuple[list[Record], list[TopicResult]]:
        """`linked`: also those that a link fills."""
        records: list[Record] = []
        results: list[TopicResult] = []
        times, room = Counter(topic.name for topic in wanted), Room(self.image)
        for topic in {topic.name: topic for topic in wanted}.values():
            try:
                if times[topic.name] > 1:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "the topic stands in the request more than once")
                if not linked:
                    links.check_not_linked(self.image, topic.name)
                made = topics.more_partitions(self.image, self.settings, topic, self._random, room)
                topics.check_batch(len(records) + len(made))
                if charge is not None:
                    charge(len(made))
                records.extend(made)
                results.append(TopicResult(topic.name))
            except KafkaError as error:
                results.append(TopicResult(topic.name, error.code, error.message))
        return [] if validate_only else records, results

    # --- settings -----------------------------------------------------------------------------------------------

    def incremental_alter_configs(
        self, wanted: Sequence[ConfigChange], validate_only: bool = False
    ) -> tuple[list[Record], list[ConfigResult]]:
        return self._alter(wanted, configs.altered, validate_only)

    def alter_configs(
        self, wanted: Sequence[ConfigChange], validate_only: bool = False
    ) -> tuple[list[Record], list[ConfigResult]]:
        return self._alter(wanted, configs.replaced, validate_only)

    def _alter(
        self,
        wanted: Sequence[ConfigChange],
        alter: Callable[[MetadataImage, Settings, ConfigChange, Collection[int]], list[Record]],
        validate_only: bool,
    ) -> tuple[list[Record], list[ConfigResult]]:
        records: list[Record] = []
        results: list[ConfigResult] = []
        seen: dict[tuple[int, str], int] = {}
        for change in wanted:
            key = (change.resource_type, change.resource_name)
            seen[key] = seen.get(key, 0) + 1
        for change in wanted:
            key = (change.resource_type, change.resource_name)
            try:
                if seen[key] > 1:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "the resource stands in the request more than once")
                made = alter(self.image, self.settings, change, self._controllers())
                records += made + self._after_settings(made)
                results.append(ConfigResult(*key))
            except KafkaError as error:
                results.append(ConfigResult(*key, error.code, error.message))
        return [] if validate_only else records, results

    def _after_settings(self, made: list[Record]) -> list[Record]:
        """Fewer replicas or zones may be enough for a commit now: then nobody is eligible who is not in sync."""
        records = links.after_settings(self.image, made)
        if any(isinstance(record, ConfigRecord) and record.name in features.FOR_A_COMMIT for record in made):
            image = self.image.apply([*made, *records])
            records += elections.eligible_again(image, self._rules_under(image))
        return records

    # --- leaders ------------------------------------------------------------------------------------------------

    def elect_leaders(
        self, election_type: int, partitions: Sequence[tuple[str, int]] | None
    ) -> tuple[list[Record], list[ElectionResult]]:
        return elections.elect(self.image, election_type, partitions, self._rules)

    def balance_leaders(self) -> tuple[list[Record], int]:
        """Puts preferred leaders back (auto.leader.rebalance.enable); gives how many."""
        records = elections.balance(self.image, self._rules)
        return records, len(records)

    def finish_predecessor(self) -> tuple[list[Record], None]:
        """For a controller that begins: finish what its predecessor may have left half written."""
        return self._elr_safety() + elections.replace_dead_leaders(self.image, self._rules), None

    def _elr_safety(self, changes: Sequence[Record] = ()) -> list[Record]:
        stored = self.image.config(ResourceType.BROKER, "")
        return features.elr_safety_records(self.image.features, stored, self.settings, changes)

    # --- replicas -----------------------------------------------------------------------------------------------

    def alter_partition(
        self, broker_id: int, broker_epoch: int, wanted: Sequence[PartitionAlteration]
    ) -> tuple[list[Record], list[AlteredPartition]]:
        return alterations.alter(self.image, broker_id, broker_epoch, wanted, self._rules)

    def alter_reassignments(
        self, wanted: Sequence[Reassignment], allow_factor_change: bool = True
    ) -> tuple[list[Record], list[ReassignmentResult]]:
        return reassignment.reassign(self.image, wanted, allow_factor_change, self._rules)

    def list_reassignments(
        self, wanted: Sequence[tuple[str, Sequence[int]]] | None
    ) -> tuple[list[Record], list[OngoingMove]]:
        return [], reassignment.ongoing(self.image, wanted)

    def assign_directories(
        self, broker_id: int, broker_epoch: int, wanted: Sequence[ReplicaDirectory]
    ) -> tuple[list[Record], list[ReplicaDirectory]]:
        return replica_dirs.assign(self.image, broker_id, broker_epoch, wanted, self._rules)

    # --- features, producers ------------------------------------------------------------------------------------

    def update_features(
        self, updates: Sequence[FeatureUpdate], validate_only: bool = False
    ) -> tuple[list[Record], list[str]]:
        """All the updates or none; the answer is the names in the order given."""
        records = features.update_records(self.image.features, updates, self.settings.int("node.id"))
        records += self._elr_safety(records)
        return [] if validate_only else records, [update.name for update in updates]

    def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> tuple[list[Record], tuple[int, int]]:
        """The first id of a block that is the broker's own, and how many it has."""
        return producer_ids.allocate(self.image, broker_id, broker_epoch)

    # --- rules, users and quotas --------------------------------------------------------------------------------
    # Imported by the first change of one of them, not by every start.

    def create_acls(self, wanted: Sequence[AclBinding]) -> tuple[list[Record], list[KafkaError | None]]:
        from barnabas.core.cluster.access import acls

        return acls.create(self.image, wanted, self._new_id)

    def delete_acls(self, ids: Collection[bytes]) -> tuple[list[Record], list[bytes]]:
        from barnabas.core.cluster.access import acls

        return acls.delete(self.image, ids)

    def alter_scram_credentials(
        self, deletions: "Sequence[ScramDeletion]", upsertions: "Sequence[ScramUpsertion]"
    ) -> "tuple[list[Record], list[UserResult]]":
        from barnabas.core.cluster.access import scram_users

        return scram_users.alter(self.image.scram, deletions, upsertions, self._new_id)

    def bring_users_over(
        self, keys: "Sequence[UserKeys]", source: str, super_users: frozenset[str]
    ) -> "tuple[list[Record], list[UserResult]]":
        from barnabas.core.cluster.access import linked_users

        return linked_users.bring_over(self.image.scram, keys, source, super_users, self._new_id)

    def alter_quotas(
        self, wanted: "Sequence[QuotaAlteration]", validate_only: bool = False
    ) -> "tuple[list[Record], list[tuple[QuotaAlteration, KafkaError | None]]]":
        from barnabas.core.cluster.access import quotas

        records, results = quotas.alter(self.image.quotas, wanted)
        return [] if validate_only else records, results

    # --- delegation tokens --------------------------------------------------------------------------------------
    # Imported by the first request for a token, not by every start.

    def create_token(self, wanted: "NewToken", now_ms: int) -> "tuple[list[Record], tuple[DelegationToken, bytes]]":
        """Gives the token and its HMAC."""
        from barnabas.core.access.delegation_tokens import token_hmac
        from barnabas.core.cluster.access import delegation_tokens as tokens

        secret = self._token_secret()
        times = tokens.token_times(self.settings)
        records, token = tokens.create(self.image.tokens, wanted, self._new_id(), times, now_ms)
        return records, (token, token_hmac(secret, token.token_id))

    def renew_token(self, hmac: bytes, principal: str, period_ms: int, now_ms: int) -> tuple[list[Record], int]:
        from barnabas.core.cluster.access import delegation_tokens as tokens

        found, times = self._token_index(), tokens.token_times(self.settings)
        return tokens.renew(self.image.tokens, found, hmac, principal, period_ms, times, now_ms)

    def expire_token(self, hmac: bytes, principal: str, period_ms: int, now_ms: int) -> tuple[list[Record], int]:
        from barnabas.core.cluster.access import delegation_tokens as tokens

        return tokens.expire(self.image.tokens, self._token_index(), hmac, principal, period_ms, now_ms)

    def remove_expired_tokens(self, now_ms: int) -> tuple[list[Record], int]:
        from barnabas.core.cluster.access import delegation_tokens as tokens

        return tokens.remove_expired(self.image.tokens, now_ms)

    def _token_secret(self) -> str:
        from barnabas.core.cluster.access import delegation_tokens as tokens

        secret = tokens.secret_key(self.settings)
        if secret is None:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, "delegation.token.secret.key is not set")
        if self.image.features.get(features.METADATA_VERSION, 0) < tokens.SUPPORTED_SINCE:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "metadata.version is older than delegation tokens")
        return secret

    def _token_index(self) -> "TokensByHmac":
        from barnabas.core.access.delegation_tokens import TokensByHmac

        secret = self._token_secret()
        if self._tokens_by_hmac is None:
            self._tokens_by_hmac = TokensByHmac(secret)
        return self._tokens_by_hmac

    # --- brokers ------------------------------------------------------------------------------------------------

    def register_broker(self, wanted: Registration, now_ms: int) -> tuple[list[Record], int]:
        """A new epoch for a broker that starts. A new cluster settles its features with its first broker."""
        live = self.sessions.is_live(wanted.broker_id, now_ms, self.settings.int("broker.session.timeout.ms"))
        records, epoch = brokers.register(self.image, wanted, session_is_live=live, rules_of=self._rules)
        self.sessions.touch(wanted.broker_id, now_ms)
        levels = [] if self.image.features else features.default_feature_records()
        return levels + (self._elr_safety(levels) if levels else []) + records, epoch

    def heartbeat(self, beat: Heartbeat, now_ms: int) -> tuple[list[Record], HeartbeatResult]:
        was_fenced = not self.image.is_alive(beat.broker_id)
        records, result = brokers.heartbeat(self.image, beat, self._rules)
        self.sessions.touch(beat.broker_id, now_ms)
        if was_fenced and not result.is_fenced:
            records += growth.grow_internal_topics(self.image.apply(records), self.settings, self._rules)
        return records, result

    def fence_expired(self, now_ms: int) -> tuple[list[Record], list[int]]:
        """Fences the brokers whose heartbeats stopped."""
        records: list[Record] = []
        late = self.sessions.expired(self.image, now_ms, self.settings.int("broker.session.timeout.ms"))
        image = self.image
        for broker_id in late:
            fencing = brokers.change(image, broker_id, self._rules, fenced=True)
            image = image.apply(fencing)
            records.extend(fencing)
            self.sessions.forget(broker_id)
        return records, late

    def fence_broker(self, broker_id: int, broker_epoch: int) -> tuple[list[Record], bool]:
        """The connection of a broker closed without a word: it is gone, as long as it does not say otherwise."""
        broker = self.image.brokers.get(broker_id)
        if broker is None or broker.broker_epoch != broker_epoch or broker.fenced:
            return [], False
        self.sessions.forget(broker_id)
        return brokers.change(self.image, broker_id, self._rules, fenced=True), True

    def unregister_broker(self, broker_id: int) -> tuple[list[Record], None]:
        records = brokers.unregister(self.image, broker_id, self._rules)
        self.sessions.forget(broker_id)
        return records, None

    @property
    def _rules(self) -> Rules:
        return self._rules_under(self.image)

    def _rules_under(self, image: MetadataImage) -> Rules:
        """By the dynamic settings of the image decided on, which may be newer than those the node runs with."""
        node_id = str(self.settings.int("node.id"))
        key = (self.settings, image.config(ResourceType.BROKER, ""), image.config(ResourceType.BROKER, node_id))
        if self._rules_key is None or any(a is not b for a, b in zip(key, self._rules_key, strict=True)):
            self._rules_key = key
            self._topic_rules = Rules(self.settings.with_dynamic(cluster=key[1], node=key[2]))
        return self._topic_rules
