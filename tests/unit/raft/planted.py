"""Bugs to plant, each one change in the text of one function: what a tired author could have written."""

import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import NamedTuple

from barnabas.core.raft import elections, learning, log, newcomers, quorum, voters
from barnabas.core.raft.follower import following, snapshots
from barnabas.core.raft.leader import leading, membership
from tests.unit.raft.ledger import (
    BELOW_HIGH_WATERMARK,
    COMMITTED_ON_MAJORITY,
    EPOCHS_RISE,
    HIGH_WATERMARK_IN_LOG,
    LEADER_COMPLETENESS,
    LOG_MATCHING,
    ONE_COMMITTED_VALUE,
    ONE_LEADER,
    ONE_VOTE,
    PROGRESS,
    VOTE_ON_DISK,
    VOTERS_OF_THE_LOG,
    WHOLE_BATCHES,
)


class Bug(NamedTuple):
    home: ModuleType | type
    function: str
    right: str
    wrong: str
    breaks: tuple[str, ...]  # the invariants of ledger.py that it is found by, and no other exception


BUGS = {
    "a vote is not persisted": Bug(
        quorum.Quorum, "_remember", "self.state = self.out.persist = new", "self.state = new", (VOTE_ON_DISK,)
    ),
    "votes are forgotten in a crash": Bug(
        quorum.Quorum,
        "_remember",
        "self.state = self.out.persist = new",
        "self.state = new; self.out.persist = PersistentState(epoch, None, leader_id)",
        (VOTE_ON_DISK,),
    ),
    "two votes in one epoch": Bug(elections, "may_grant", "return q.state.voted_for == candidate", "pass", (ONE_VOTE,)),
    "a candidate without our log gets our vote": Bug(
        elections,
        "may_grant",
        "has_our_log = (request.last_offset_epoch, request.last_offset) >= (own.epoch, own.offset)",
        "has_our_log = True",
        (LEADER_COMPLETENESS,),
    ),
    "a longer log beats a newer one": Bug(
        elections,
        "may_grant",
        "(request.last_offset_epoch, request.last_offset) >= (own.epoch, own.offset)",
        "request.last_offset >= own.offset",
        (LEADER_COMPLETENESS,),
    ),
    "a pre-vote counts as a vote": Bug(
        quorum.Quorum,
        "become_candidate",
        "{self.local.id}",
        "set(self.role.granted)",
        (
            ONE_LEADER,
            LOG_MATCHING,
        ),
    ),
    "half of the voters elect": Bug(
        voters.VoterSet,
        "__post_init__",
        "len(self.voters) // 2 + 1",
        "(len(self.voters) + 1) // 2",
        (
            ONE_LEADER,
            LEADER_COMPLETENESS,
            ONE_COMMITTED_VALUE,
            COMMITTED_ON_MAJORITY,
        ),
    ),
    "a record of an older epoch is committed by counting": Bug(
        leading, "update_high_watermark", "on_majority > role.epoch_start_offset and", "", (LEADER_COMPLETENESS,)
    ),
    "the high watermark is one voter too far": Bug(
        leading,
        "update_high_watermark",
        "ends[voters.majority - 1]",
        "ends[max(voters.majority - 2, 0)]",
        (COMMITTED_ON_MAJORITY,),
    ),
    "the high watermark is one record too far": Bug(
        leading,
        "update_high_watermark",
        "q.advance(on_majority)",
        "q.advance(on_majority + 1)",
        (HIGH_WATERMARK_IN_LOG,),
    ),
    "a leader counts what it has not flushed": Bug(
        leading,
        "update_high_watermark",
        "ends.append(q.log.flushed_offset)",
        "ends.append(q.log.end_offset)",
        (COMMITTED_ON_MAJORITY,),
    ),
    "a follower confirms what it has not flushed": Bug(
        following, "poll_follower", "q.log.flushed_offset == q.log.end_offset and", "", (COMMITTED_ON_MAJORITY,)
    ),
    "a vote is given in an epoch gone by": Bug(
        elections, "handle_vote", "request.replica_epoch < q.epoch", "False", (ONE_VOTE,)
    ),
    "an older leader is followed": Bug(
        following, "handle_begin", "request.leader_epoch < q.epoch", "False", (EPOCHS_RISE,)
    ),
    "a diverging log is not cut": Bug(
        log.LogState,
        "compare",
        "return VALID if end.epoch == epoch and offset <= end.offset else Diverging(end)",
        "return VALID",
        (
            LOG_MATCHING,
            ONE_COMMITTED_VALUE,
            COMMITTED_ON_MAJORITY,
        ),
    ),
    "divergence is judged by the offset alone": Bug(
        log.LogState,
        "compare",
        "end.epoch == epoch and offset <= end.offset",
        "offset <= self.end_offset",
        (
            LOG_MATCHING,
            ONE_COMMITTED_VALUE,
            COMMITTED_ON_MAJORITY,
        ),
    ),
    "a log is cut too little": Bug(
        log.LogState,
        "truncation_point",
        "min(local.offset, diverging.offset)",
        "max(local.offset, diverging.offset) - 1",
        (
            WHOLE_BATCHES,
            BELOW_HIGH_WATERMARK,
            PROGRESS,
        ),
    ),
    "a follower believes any high watermark": Bug(
        following,
        "_append",
        "min(response.high_watermark, q.log.end_offset)",
        "response.high_watermark",
        (HIGH_WATERMARK_IN_LOG,),
    ),
    "a leader leads on after a crash": Bug(
        quorum.Quorum,
        "_first_role",
        "return Unattached(",
        "return Leader(self.log.end_offset, self.now_ms + 300) if leader_id == self.local.id else Unattached(",
        (
            PROGRESS,
            LOG_MATCHING,
        ),
    ),
    "a removed leader counts itself": Bug(
        leading,
        "update_high_watermark",
        "ends.sort(reverse=True)",
        "ends[0] = max(ends[0], q.log.flushed_offset) if not q.is_voter else ends[0]; ends.sort(reverse=True)",
        (COMMITTED_ON_MAJORITY,),
    ),
    "a removed leader leads on": Bug(
        leading,
        "poll_leader",
        "if q.log.voters_offset < q.high_watermark and not q.is_voter:",
        "if False:",
        (PROGRESS,),
    ),
    "two changes of the voters at once": Bug(
        membership,
        "_leader_free_to_change",
        "role.change is not None or q.log.voters_offset >= q.high_watermark",
        "False",
        (
            ONE_LEADER,
            LEADER_COMPLETENESS,
        ),
    ),
    "voters of a truncated record remain": Bug(
        log.LogState,
        "truncate",
        "while self.history and self.history[-1][0] >= end_offset:",
        "while False:",
        (VOTERS_OF_THE_LOG,),
    ),
    "a new disk votes for the old one": Bug(learning, "meant_for_us", "voter_id < 0", "True", (LEADER_COMPLETENESS,)),
    "a removed voter never stands": Bug(
        quorum.Quorum,
        "may_stand",
        "return self.is_voter or any(voters.has(self.local) for voters in self.log.voters_since(self.high_watermark))",
        "return self.is_voter",
        (PROGRESS,),
    ),
    "a snapshot keeps the log behind it": Bug(
        snapshots,
        "handle_downloaded",
        "q.out.log.append(ResetLog(event.snapshot_id))",
        "",
        (
            HIGH_WATERMARK_IN_LOG,
            ONE_COMMITTED_VALUE,
            COMMITTED_ON_MAJORITY,
        ),
    ),
    "an observer's fetch counts for a voter": Bug(
        leading,
        "update_high_watermark",
        "progress = role.progress_of(voter)",
        "progress = max(role.replicas.values(), key=lambda p: p.end_offset, default=None)",
        (
            COMMITTED_ON_MAJORITY,
            LEADER_COMPLETENESS,
        ),
    ),
}

# Found in worlds whose voters come from the settings.
STATIC_BUGS = {
    "an empty disk votes at once": Bug(elections, "handle_vote", "not q.state.new and ", "", (LEADER_COMPLETENESS,)),
    "an empty disk votes when it follows": Bug(
        newcomers,
        "catch_up",
        "if committed_here and q.log.flushed_offset >= role.leader_high_watermark:",
        "if True:",
        (LEADER_COMPLETENESS,),
    ),
}
STATIC_FOUND_BY = dict.fromkeys(STATIC_BUGS, 213)


# The first seed that finds those that the first few do not.
FOUND_BY = {
    "a longer log beats a newer one": 11,
    "a record of an older epoch is committed by counting": 260,
    "a vote is given in an epoch gone by": 378,
    "an older leader is followed": 58,
    "a removed leader counts itself": 395,
    "a removed leader leads on": 20,
    "two changes of the voters at once": 66,
    "voters of a truncated record remain": 26,
    "a new disk votes for the old one": 13,
    "a removed voter never stands": 88,
}


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    found = inspect.getattr_static(bug.home, bug.function)
    function = found.fget if isinstance(found, property) else found
    assert isinstance(function, FunctionType)
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(bug.right) == 1, f"{bug.function} no longer says {bug.right!r}"
    module = inspect.getmodule(function)
    assert module is not None
    names: dict[str, object] = {}
    code = compile(source.replace(bug.right, bug.wrong), f"<{bug.function} with a bug>", "exec", flags=0)
    exec(code, vars(module) | {}, names)  # noqa: S102
    mutant = names[bug.function]
    code_of = (mutant.fget if isinstance(mutant, property) else mutant).__code__  # type: ignore[attr-defined]
    right = function.__code__
    function.__code__ = code_of
    try:
        yield
    finally:
        function.__code__ = right
