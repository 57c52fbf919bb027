"""Messages and records in a few words each, for the scenario files."""

from barnabas.core.raft import VoterSet
from barnabas.core.raft import messages as m
from barnabas.core.raft.effects import KRaftVersion, LeaderChange, RoleChange


def role_words(change: RoleChange) -> str:
    words = [change.role, f"e{change.epoch}"]
    if change.leader_id is not None and change.role != "leader":
        words.append(f"of {change.leader_id}")
    return " ".join([*words, "(observer)"] if change.observer else words)


def value_words(value: object) -> str:
    match value:
        case LeaderChange(leader_id=leader_id):
            return f"leader={leader_id}"
        case KRaftVersion():
            return "kraft.version"
        case VoterSet(voters=voters):
            moved = [voter for voter in voters if voter.address.port != 1000 + voter.id]
            where = "".join(f"@{voter.id}:{voter.address.port}" for voter in moved)
            return f"voters={','.join(str(voter.id) for voter in voters)}{where}"
    return str(value)


def message_words(message: m.Request | m.Response) -> str:
    match message:
        case m.VoteRequest():
            kind = "pre-vote" if message.pre_vote else "vote"
            return f"{kind} e{message.replica_epoch} log={message.last_offset}/{message.last_offset_epoch}"
        case m.VoteResponse():
            return _answer("granted" if message.vote_granted else "not granted", message)
        case m.BeginQuorumEpochRequest():
            return f"begin e{message.leader_epoch}"
        case m.EndQuorumEpochRequest():
            return f"end e{message.leader_epoch} next={','.join(str(key.id) for key in message.preferred_candidates)}"
        case m.BeginQuorumEpochResponse() | m.EndQuorumEpochResponse():
            return _answer("ok", message)
        case m.FetchRequest():
            return f"fetch e{message.current_leader_epoch} from={message.fetch_offset}/{message.last_fetched_epoch}"
        case m.FetchResponse():
            if message.diverging_epoch is not None:
                return f"diverging from={message.diverging_epoch.offset}/{message.diverging_epoch.epoch}"
            if message.snapshot_id is not None:
                return f"needs snapshot={message.snapshot_id.offset}/{message.snapshot_id.epoch}"
            range_ = (
                f"{message.batches[0].base_offset}-{message.batches[-1].last_offset}" if message.batches else "none"
            )
            return _answer(f"fetched {range_} hw={message.high_watermark}", message)
        case m.FetchSnapshotRequest():
            return f"fetch snapshot={message.snapshot_id.offset}/{message.snapshot_id.epoch} at={message.position}"
        case m.FetchSnapshotResponse():
            return _answer(f"snapshot {message.position}+{len(message.unaligned_records)} of {message.size}", message)
        case m.AddRaftVoterRequest():
            return f"add voter {message.voter_id}"
        case m.RemoveRaftVoterRequest():
            return f"remove voter {message.voter_id}"
        case m.UpdateRaftVoterRequest():
            return f"update voter {message.voter_id} {message.listeners[0].port}"
        case m.AddRaftVoterResponse() | m.RemoveRaftVoterResponse():
            text = f" ({message.error_message})" if message.error_message else ""
            return f"{message.error_code.name}{text}"
        case m.UpdateRaftVoterResponse():
            return message.error_code.name


def _answer(words: str, message: m.VoteResponse | m.Response) -> str:
    if message.error_code:
        words = message.error_code.name
    leader = f" leader={message.leader_id}" if message.leader_id >= 0 else ""
    return f"{words} e{message.leader_epoch}{leader}"
