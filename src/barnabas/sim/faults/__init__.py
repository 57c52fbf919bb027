"""One fault a class; which strike in a run, and when, the seed decides (scenarios/)."""

from barnabas.sim.faults.base import Fault
from barnabas.sim.faults.between_nodes import Bridge, CutOff, Halves, OneWay, Resets, SlowNode
from barnabas.sim.faults.bit_flip import BitFlip, SpoiltIndex
from barnabas.sim.faults.clean_restart import CleanRestart
from barnabas.sim.faults.clock_jump import ClockJump, WrongClockAtBoot
from barnabas.sim.faults.crash_in_change import CrashInChange, PowerLossInChange
from barnabas.sim.faults.disks import FailedSync, FailingReads, Full, SlowSync
from barnabas.sim.faults.kill import Kill
from barnabas.sim.faults.links import Cut, Partitioned, Slow
from barnabas.sim.faults.many_nodes import EmptyDisk, KillSeveral, KillTogether, PowerLossOfAll, RollingRestart
from barnabas.sim.faults.pause import Pause
from barnabas.sim.faults.power_loss import PowerLoss

FAULTS: tuple[type[Fault], ...] = (
    Kill,
    CrashInChange,
    CleanRestart,
    Pause,
    Cut,
    Slow,
    Partitioned,
    ClockJump,
    SlowSync,
    Full,
    FailingReads,
    FailedSync,
    PowerLoss,
    PowerLossInChange,
    SpoiltIndex,
    BitFlip,
    WrongClockAtBoot,
)

OF_CLUSTERS: tuple[type[Fault], ...] = (
    CutOff,
    OneWay,
    Bridge,
    Halves,
    SlowNode,
    Resets,
    KillSeveral,
    KillTogether,
    RollingRestart,
    EmptyDisk,
    PowerLossOfAll,
)

__all__ = ["FAULTS", "OF_CLUSTERS", "Fault"]
