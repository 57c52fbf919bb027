"""The machine behind test_any_order.py: clients of both generations, a network, a coordinator that dies, and promises.

Clients of the old generation wait for the answer to AddPartitions before they write, and the partition's leader asks
the coordinator again before it appends, as Kafka does for them. Clients of KIP-890 write whenever they like.
"""

import inspect
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from barnabas.core.txn import Transaction, TxnConfig, TxnShard, TxnState
from barnabas.model.ids import TopicPartition
from tests.unit.txn.model import Instance, Model, histories
from tests.unit.txn.stage import compacted
from tests.unit.txn.steps import CHOICES, INTERVAL_MS, STEPS, TIMEOUT_MS, Grant, Write, all_ok, topics_of


class AnyOrder(RuleBasedStateMachine):
    transaction_version = 2

    def __init__(self) -> None:
        super().__init__()
        config = TxnConfig(
            transaction_version=self.transaction_version,
            transaction_two_phase_commit_enable=True,
            transactional_id_expiration_ms=50_000,
            transaction_abort_timed_out_transaction_cleanup_interval_ms=INTERVAL_MS,
            transaction_remove_expired_transaction_cleanup_interval_ms=INTERVAL_MS,
        )
        self.model = Model(config)
        self.grants: list[Grant] = []
        self.inbox: list[Grant | Write] = []
        self.owners: dict[
            str, list[tuple[int, int]]
        ] = {}  # clients of an id, with the place of their record in the log
        self.is_new: list[bool] = []  # the generation of each client
        self.writes: list[Write] = []  # what is in the partitions
        # Who ended what, and who knows that it is over, with the place of the record in the log.
        self.endings: list[tuple[Grant, Instance, int]] = []
        self.over: list[tuple[int, Instance, int]] = []

    @rule(data=st.data(), step=st.sampled_from([step for step, weight in STEPS.items() for _ in range(weight)]))
    def next(self, data: st.DataObject, step: str) -> None:
        # One rule for all: hypothesis leaves rules out of a run, and few runs have all that a transaction needs.
        action = getattr(self, step)
        action(**{name: data.draw(CHOICES[name], name) for name in inspect.signature(action).parameters})

    # --- requests ---------------------------------------------------------------------------------------------------

    def a_client_starts(self, name: str, old: bool, two_phase: bool, fresh: bool, how: str) -> None:
        new, keep = not old and self.transaction_version >= 2, not fresh
        answer = self._init(name, version=6, enable2_pc=two_phase, keep_prepared_txn=keep and new)
        if answer["error_code"] == 0:
            self.is_new.append(new)
            owner = len(self.is_new) - 1
            self.owners.setdefault(name, []).append((owner, len(self.model.all_records())))
            self._tell(Grant(name, (answer["producer_id"], answer["producer_epoch"]), owner))
        self._travel(how)

    def a_client_starts_over(self, which: int, how: str) -> None:
        if not self.grants:
            return
        grant = self._grant(which)
        if grant.name not in self.model.shard.transactions:
            return  # forgotten: anybody may have it
        producer_id, epoch = grant.producer
        answer = self._init(grant.name, version=5, producer_id=producer_id, producer_epoch=epoch)
        if answer["error_code"] == 0:
            self._check_not_fenced(grant)
            records = self.model.all_records()
            self.over.append((grant.owner, self.model.instance_of(grant.name, records), len(records)))
            self._tell(Grant(grant.name, (answer["producer_id"], answer["producer_epoch"]), grant.owner))
        self._travel(how)

    def add_partitions(self, which: int, partitions: set[TopicPartition], how: str) -> None:
        if not self.grants:
            return
        grant = self._grant(which)
        if self.is_new[grant.owner]:
            answer = self._add_as_leader(grant, partitions, verify=False)
            topics = answer["results_by_transaction"][0]["topic_results"]
        else:
            body = {
                "v3_and_below_transactional_id": grant.name,
                "v3_and_below_producer_id": grant.producer[0],
                "v3_and_below_producer_epoch": grant.producer[1],
                "v3_and_below_topics": topics_of(partitions),
            }
            topics = self.model.ask(24, 3, body)["results_by_topic_v3_and_below"]
        if all_ok(topics):
            self._check_not_fenced(grant)
            instance = self.model.instance_of(grant.name, self.model.all_records())
            self._tell(Write(grant, tuple(sorted(partitions)), instance))
        self._travel(how)

    def add_offsets(self, which: int, how: str) -> None:
        if not self.grants:
            return
        grant = self._grant(which)
        if self.is_new[grant.owner]:
            return
        body = {
            "transactional_id": grant.name,
            "producer_id": grant.producer[0],
            "producer_epoch": grant.producer[1],
            "group_id": "g",
        }
        if self.model.ask(25, 4, body)["error_code"] == 0:
            self._check_not_fenced(grant)
        self._travel(how)

    def a_whole_transaction(self, which: int, partitions: set[TopicPartition], committed: bool, how: str) -> None:
        if not self.grants:
            self.a_client_starts("a", old=committed, two_phase=False, fresh=True, how="answered")
        self.add_partitions(which, partitions, "answered")
        self.end(which, committed, how)

    def end(self, which: int, committed: bool, how: str) -> None:
        if not self.grants:
            return
        grant = self._grant(which)
        producer_id, epoch = grant.producer
        body = {
            "transactional_id": grant.name,
            "producer_id": producer_id,
            "producer_epoch": epoch,
            "committed": committed,
        }
        new = self.is_new[grant.owner]
        answer = self.model.ask(26, 5 if new else 3, body)
        if answer["error_code"] == 0:
            self._check_not_fenced(grant)
            self._check_ending(grant, committed)
            if new:
                self._tell(Grant(grant.name, (answer["producer_id"], answer["producer_epoch"]), grant.owner))
        self._travel(how)

    # --- the world --------------------------------------------------------------------------------------------------

    def _travel(self, how: str) -> None:
        """What becomes of the step just taken: safe and answered, safe and answered later, or neither yet."""
        if how != "not yet safe":
            facts = self.model.commit()
            if how == "late":
                self.inbox += facts
            else:
                for fact in facts:
                    self._arrive(fact)

    def a_late_reply_arrives(self, which: int) -> None:
        if self.inbox:
            self._arrive(self.inbox.pop(which % len(self.inbox)))

    def _arrive(self, fact: Grant | Write) -> None:
        if isinstance(fact, Grant):
            self.grants.append(fact)
        elif self.is_new[fact.grant.owner]:
            self._write(fact, fact.instance)
        else:
            answer = self._add_as_leader(fact.grant, set(fact.partitions), verify=True)
            self.inbox += self.model.commit()
            if all_ok(answer["results_by_transaction"][0]["topic_results"]):
                self._write(fact, self.model.instance_of(fact.grant.name))

    def _write(self, fact: Write, instance: Instance) -> None:
        for where in fact.partitions:
            if self.model.partitions[where].write(fact.grant.producer, instance):
                self.writes.append(replace(fact, instance=instance))

    def a_reply_is_lost(self, which: int) -> None:
        if self.inbox:
            self.inbox.pop(which % len(self.inbox))

    def a_marker_arrives(self, which: int, how: str) -> None:
        if self.model.in_flight:
            self.model.deliver(which % len(self.model.in_flight))
            self._travel(how)

    def the_markers_arrive(self, how: str) -> None:
        while self.model.in_flight:
            self.model.deliver(0)
        self._travel(how)

    def a_marker_is_lost(self, which: int) -> None:
        if self.model.in_flight:
            self.model.lose(which % len(self.model.in_flight))

    def time_passes(self, by_ms: int, how: str) -> None:
        self.model.tick(by_ms)
        self._travel(how)

    def the_coordinator_reloads(self, survives: int, compact: bool, how: str) -> None:
        self.model.crash(survives=survives, compact=compact)
        for clients in self.owners.values():
            while clients and clients[-1][1] > len(self.model.log):
                clients.pop()  # its InitProducerId never happened
        self.endings = [ending for ending in self.endings if ending[2] <= len(self.model.log)]
        self.over = [end for end in self.over if end[2] <= len(self.model.log)]
        self._travel(how)

    def a_report_comes_again(self, which: int) -> None:
        if self.model.reports:
            self.model.report_again(which % len(self.model.reports))

    def producer_ids_run_out(self) -> None:
        self.model.ids_available = not self.model.ids_available

    def epochs_run_out(self, name: str) -> None:
        known = self.model.shard.transactions.get(name)
        if known is not None and known.state.is_idle and not self.model.pending and known.producer_epoch < 32_000:
            self.model.age(name, 32_764)
            self.is_new.append(False)
            self.owners.setdefault(name, []).append((len(self.is_new) - 1, len(self.model.log)))

    # --- promises ---------------------------------------------------------------------------------------------------

    @invariant()
    def a_rebuilt_shard_knows_the_same(self) -> None:
        records = self.model.all_records()
        known = self._known(self.model.shard)
        assert self._known(self.model.rebuilt(records)) == known
        assert self._known(self.model.rebuilt(compacted(records))) == known

    @invariant()
    def each_transaction_has_one_outcome_everywhere(self) -> None:
        outcomes = self._outcomes()
        for where, partition in self.model.partitions.items():
            open_data: dict[int, set[Instance]] = {}
            for entry in partition.entries:
                producer_id = entry.producer[0]
                if entry.outcome is None:
                    open_data.setdefault(producer_id, set()).add(entry.instance)
                    continue
                assert outcomes[entry.instance] == entry.outcome, (where, entry)
                assert open_data.pop(producer_id, set()) <= {entry.instance}, (where, entry)

    @invariant()
    def epochs_never_fall(self) -> None:
        for transactions in histories(self.model.log).values():
            for pairs in (
                [(known.producer_id, known.producer_epoch) for known in transactions if known is not None],
                [known.client_producer for known in transactions if known is not None],
            ):
                newest: dict[int, int] = {}
                for producer_id, epoch in pairs:
                    assert epoch >= newest.get(producer_id, -1)
                    newest[producer_id] = epoch

    def teardown(self) -> None:
        model = self.model
        model.ids_available = True
        self.inbox = []
        for _ in range(6):
            model.commit()
            while model.in_flight:
                model.deliver(0)
            model.tick(TIMEOUT_MS + INTERVAL_MS)
        model.commit()
        for name, transaction in model.shard.transactions.items():
            prepared_for_long = transaction.state is TxnState.ONGOING and transaction.never_times_out
            assert transaction.state.is_idle or prepared_for_long, (name, transaction)
        outcomes = self._outcomes()
        for partition in model.partitions.values():
            for place, entry in enumerate(partition.entries):
                ended = any(
                    later.outcome is not None and later.instance == entry.instance
                    for later in partition.entries[place:]
                )
                assert ended or entry.instance not in outcomes, entry
        self.each_transaction_has_one_outcome_everywhere()

    # --- helpers ----------------------------------------------------------------------------------------------------

    def _grant(self, which: int) -> Grant:
        # Mostly the newest, so that transactions get somewhere.
        return self.grants[-1 - (which // 4 % min(len(self.grants), 5) if which % 4 == 3 else 0)]

    def _init(self, name: str, *, version: int, **fields: Any) -> dict[str, Any]:
        return self.model.ask(22, version, {"transactional_id": name, "transaction_timeout_ms": TIMEOUT_MS, **fields})

    def _add_as_leader(self, grant: Grant, partitions: set[TopicPartition], *, verify: bool) -> dict[str, Any]:
        item = {
            "transactional_id": grant.name,
            "producer_id": grant.producer[0],
            "producer_epoch": grant.producer[1],
            "verify_only": verify,
            "topics": topics_of(partitions),
        }
        return self.model.ask(24, 5, {"transactions": [item]})

    def _known(self, shard: TxnShard) -> dict[str, Transaction]:
        if self.transaction_version >= 1:
            return dict(shard.transactions)
        # Records of version 0 have no room for the previous id. It only makes a repetition harmless.
        return {name: replace(known, previous_producer_id=-1) for name, known in shard.transactions.items()}

    def _tell(self, fact: Grant | Write) -> None:
        self.model.pending[-1].told.append(fact)

    def _check_not_fenced(self, grant: Grant) -> None:
        current = self.owners[grant.name][-1][0]
        assert grant.owner == current, f"{grant} was told yes, although client {current} has taken over"

    def _check_ending(self, grant: Grant, committed: bool) -> None:
        """What a client was told is committed is all it wrote since it last ended something; and with KIP-890 a
        producer id and epoch name one transaction, so they can end no other."""
        records = self.model.all_records()
        ended = self.model.instance_of(grant.name, records)
        own = [instance for owner, instance, _ in self.over if owner == grant.owner]
        if self.is_new[grant.owner]:
            others = {instance for client, instance, _ in self.endings if client == grant}
            assert others <= {ended}, (grant, others, ended)
        if committed:
            written = {write.instance for write in self.writes if write.grant.owner == grant.owner}
            assert {instance for instance in written if instance > max(own, default=("", 0))} <= {ended}, grant
        self.endings.append((grant, ended, len(records)))
        self.over.append((grant.owner, ended, len(records)))

    def _outcomes(self) -> dict[Instance, bool]:
        found: dict[Instance, bool] = {}
        for name, transactions in histories(self.model.log).items():
            count, idle = 0, True
            for transaction in transactions:
                if transaction is None or transaction.state.is_idle:
                    idle = True
                    continue
                count, idle = count + idle, False
                if transaction.state.is_prepared:
                    committed = transaction.state is TxnState.PREPARE_COMMIT
                    assert found.setdefault((name, count), committed) == committed
        return found

    INVARIANTS = (a_rebuilt_shard_knows_the_same, each_transaction_has_one_outcome_everywhere, epochs_never_fall)


class AnyOrderOldCluster(AnyOrder):
    transaction_version = 0
