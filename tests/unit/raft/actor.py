"""A member on a stage: it says what it does before it does it."""

from barnabas.core.raft.effects import AppendBatch, AppendFetched, Effects, ResetLog, Truncate
from tests.unit.raft.member import Member
from tests.unit.raft.words import role_words, value_words


class Actor(Member):
    def _carry_out(self, effects: Effects) -> None:
        say = self.world.say  # type: ignore[attr-defined]
        if effects.persist is not None:
            voted = effects.persist.voted_for
            say(
                f"{self.id} persist epoch={effects.persist.epoch} voted={voted.id if voted else None} "
                f"leader={effects.persist.leader_id}"
            )
        if effects.role is not None:
            say(f"{self.id} {role_words(effects.role)}")
        for change in effects.log:
            match change:
                case AppendBatch(base_offset, epoch, records, control):
                    values = " ".join(map(value_words, [*records, *control]))
                    say(f"{self.id} append {base_offset} e{epoch} {values}")
                case AppendFetched(batches):
                    say(f"{self.id} append {batches[0].base_offset}-{batches[-1].last_offset}")
                case Truncate(end_offset):
                    say(f"{self.id} truncate to {end_offset}")
                case ResetLog(snapshot_id):
                    say(f"{self.id} log begins anew at {snapshot_id.offset}/{snapshot_id.epoch}")
        if effects.committed is not None:
            say(f"{self.id} high watermark {effects.committed}")
        super()._carry_out(effects)
