"""Members of both protocols join, leave, crash, return and commit in any order, and the coordinator with them.

After every step: each partition has at most one owner, in the coordinator's books and in the members' hands; committed
offsets are the last committed; and what a new coordinator would read from the log is what this one has in memory. At
the end every request has been answered, once.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.core.groups import GroupConfig, MigrationPolicy
from barnabas.core.groups.classic.group import ClassicGroup, ClassicState
from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.member import pairs
from barnabas.core.groups.shard import GroupShard
from tests.unit.groups.agents import Agent, ClassicAgent, ConsumerAgent
from tests.unit.groups.stage import Bench, FakeTopics, fetch

TOPICS = ("alpha", "beta")


def durable(shard: GroupShard) -> dict[str, Any]:
    """What must survive a failover, as plain values."""
    world = shard._world
    state: dict[str, Any] = {}
    for group_id, group in world.groups.items():
        if isinstance(group, ConsumerGroup):
            members = {name: (member.facts, member.place) for name, member in group.members.items()}
            state[group_id] = (
                (group.facts, group.target_facts, group.targets, members),
                (group.regexes, group.static_members, group.owners),
            )
        elif group.state is ClassicState.STABLE or (group.is_empty and group.protocol_type is not None):
            value = group.to_value()
            state[group_id] = (value, group.subscribed_topics)
        else:
            state[group_id] = None  # in the middle of a rebalance, or there by its offsets alone: nothing to compare
    state["offsets"] = {
        (group_id, topic, number): kept
        for group_id in world.offsets.group_ids()
        for topic, number, kept in world.offsets.of_group(group_id)
    }
    return state


class AnyOrder(RuleBasedStateMachine):
    agents: list[Agent]

    @initialize(policy=st.sampled_from([MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE]), threads=st.booleans())
    def begin(self, policy: MigrationPolicy, threads: bool) -> None:
        """With `threads` every assignment is computed beside the heartbeats, and done when `the_threads_finish`."""
        config = GroupConfig(group_consumer_migration_policy=policy, assignment_inline_work=0 if threads else 1_000)
        self.bench = Bench(topics=FakeTopics(alpha=3, beta=2), config=config)
        self.bench.holds_jobs = threads
        self.agents = []
        self.committed: dict[tuple[str, int], int] = {}
        self.count = 0

    # --- what happens ------------------------------------------------------------------------------------------------

    def _start(self, agent: Agent) -> None:
        self.count += 1
        self.agents.append(agent)
        agent.turn()

    def _free_instance(self, wanted: int) -> str | None:
        name = f"i{wanted}"
        return None if any(agent.instance_id == name for agent in self.agents) else name

    @precondition(lambda self: len(self.agents) < 5)
    @rule(static=st.integers(0, 3))
    def classic_member_starts(self, static: int) -> None:
        self._start(ClassicAgent(self.bench, TOPICS, self._free_instance(static) if static else None))

    @precondition(lambda self: len(self.agents) < 5)
    @rule(topics=st.sampled_from([TOPICS, ("alpha",)]))
    def consumer_member_starts(self, topics: tuple[str, ...]) -> None:
        self._start(ConsumerAgent(self.bench, f"consumer{self.count}", topics))

    @precondition(lambda self: any(isinstance(agent, ClassicAgent) and agent.instance_id for agent in self.agents))
    @rule(data=st.data())
    def static_member_restarts(self, data: st.DataObject) -> None:
        named = [agent for agent in self.agents if isinstance(agent, ClassicAgent) and agent.instance_id]
        old = data.draw(st.sampled_from(named))
        self.agents.remove(old)
        self._start(ClassicAgent(self.bench, TOPICS, old.instance_id))

    @precondition(lambda self: self.agents)
    @rule(data=st.data())
    def member_crashes(self, data: st.DataObject) -> None:
        self.agents.remove(data.draw(st.sampled_from(self.agents)))

    @precondition(lambda self: self.agents)
    @rule(data=st.data())
    def member_leaves(self, data: st.DataObject) -> None:
        agent = data.draw(st.sampled_from(self.agents))
        if isinstance(agent, ClassicAgent) or agent.client.epoch:
            agent.leave()
        self.agents.remove(agent)

    @rule(ms=st.sampled_from([1, 100, 1_000, 3_000]), times=st.sampled_from([1, 3, 20]))
    def time_passes(self, ms: int, times: int) -> None:
        for _ in range(times):
            self.bench.advance(ms)
            for agent in list(self.agents):
                agent.turn()
            self.one_owner_each()

    @rule(data=st.data())
    def one_member_is_quicker(self, data: st.DataObject) -> None:
        if self.agents:
            data.draw(st.sampled_from(self.agents)).turn()

    @precondition(lambda self: any(agent.owned for agent in self.agents))
    @rule(data=st.data(), offset=st.integers(0, 1_000))
    def member_commits(self, data: st.DataObject, offset: int) -> None:
        agent = data.draw(st.sampled_from([agent for agent in self.agents if agent.owned]))
        pair = data.draw(st.sampled_from(sorted(agent.owned)))
        if agent.commit(pair, offset):
            self.committed[pair] = offset

    @rule()
    def a_topic_grows(self) -> None:
        if self.bench.topics.counts["beta"] < 5:
            self.bench.topics.grow("beta", self.bench.topics.counts["beta"] + 1)
            self.bench.topics_changed()

    @precondition(lambda self: self.bench.jobs)
    @rule()
    def the_threads_finish(self) -> None:
        self.bench.compute()

    @rule(compacted=st.booleans())
    def the_coordinator_moves(self, compacted: bool) -> None:
        self.bench.reload(compacted=compacted)
        group = self.bench.shard.groups.get("g")
        known = group.members.keys() if group is not None else ()
        for agent in self.agents:
            # Between two generations a classic member is in memory only; Kafka's own coordinator forgets it too.
            agent.forgiven = isinstance(agent, ClassicAgent) and agent.member_id not in known

    # --- what must hold ----------------------------------------------------------------------------------------------

    @invariant()
    def one_owner_each(self) -> None:
        if not hasattr(self, "bench"):
            return
        group = self.bench.shard.groups.get("g")
        held: dict[tuple[str, int], Agent] = {}
        for agent in self.agents:
            if (
                isinstance(agent, ClassicAgent)
                and isinstance(group, ClassicGroup)
                and (agent.phase != "in" or agent.client.generation != group.generation)
            ):
                continue  # it will hear of the rebalance with its next heartbeat
            for pair in agent.owned:
                assert pair not in held, f"{pair} is held twice"
                held[pair] = agent
        if isinstance(group, ConsumerGroup):
            self._books_are_right(group)

    def _books_are_right(self, group: ConsumerGroup) -> None:
        books: dict[tuple[bytes, int], str] = {}
        for member in group.members.values():
            for assignment in (member.place.assigned, member.place.pending_revocation):
                for pair in pairs(assignment):
                    assert pair not in books, "two members own one partition"
                    books[pair] = member.member_id
        assert books == group.owners
        promised = [(t, n) for target in group.targets.values() for t, numbers in target.items() for n in numbers]
        assert len(promised) == len(set(promised))
        assert group.targets.keys() <= group.members.keys()
        for member in group.members.values():
            assert member.epoch <= group.epoch
        for agent in self.agents:
            for topic, number in agent.owned:
                assert books.get((self.bench.topics.ids[topic], number)) == agent.member_id, "held but not in the books"

    @invariant()
    def offsets_are_the_last_committed(self) -> None:
        for (topic, number), offset in getattr(self, "committed", {}).items():
            assert fetch(self.bench, "g", topic, number).committed_offset == offset

    @invariant()
    def the_log_says_the_same(self) -> None:
        if not hasattr(self, "bench"):
            return
        memory = durable(self.bench.shard)
        for log in (self.bench.log, list(dict(self.bench.log).items())):
            other = self.bench._new_shard()
            for key, value in log:
                assert other.replay(key, value, self.bench.now_ms) is None
            replayed = durable(other)
            for group_id, value in memory.items():
                if value is not None:
                    assert replayed[group_id] == value
            assert replayed["offsets"] == memory["offsets"]

    def teardown(self) -> None:
        if not hasattr(self, "bench"):
            return
        self.bench.holds_jobs = False
        self.bench.compute()
        for _ in range(8):
            self.bench.advance(3_000)
            for agent in self.agents:
                agent.turn()
        consumers = [agent for agent in self.agents if isinstance(agent, ConsumerAgent)]
        if consumers:
            reads = {topic for agent in self.agents for topic in agent.client.__dict__.get("topics", TOPICS)}
            everything = {(topic, number) for topic in reads for number in range(self.bench.topics.counts[topic])}
            for _ in range(40):  # crashed members are found out, then everything is somebody's again
                self.bench.advance(3_000)
                for agent in self.agents:
                    agent.turn()
            assert {pair for agent in self.agents for pair in agent.owned} == everything, "a partition is nobody's"
        self.agents = []
        self.bench.advance(3_600_000)
        assert not self.bench.unanswered, "a request was never answered"


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
