"""Node settings: transactions."""

from barnabas.model.settings.rows import BOOLEAN, CLUSTER_WIDE, INT, SHORT, node
from barnabas.model.settings.valid import at_least

# fmt: off
ROWS = (
    node("add.partitions.to.txn.retry.backoff.max.ms", INT, 100, at_least(0),
         doc="How long the first batch of a transaction waits at most for the end of the transaction before."),
    node("add.partitions.to.txn.retry.backoff.ms", INT, 20, at_least(1),
         doc="After how long the coordinator is asked again whether the transaction before has ended."),
    node("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, 10_000, at_least(1),
         doc="How often at most transactions past their timeout are looked for."),
    node("transaction.max.timeout.ms", INT, 900_000, at_least(1),
         doc="The longest timeout a client may ask for its transactions."),
    node("transaction.partition.verification.enable", BOOLEAN, True, mode=CLUSTER_WIDE, effective=False,
         doc="Accepted for compatibility; a batch is always checked against its transaction."),
    node("transaction.remove.expired.transaction.cleanup.interval.ms", INT, 3_600_000, at_least(1),
         doc="How often at most unused transactional ids are looked for."),
    node("transaction.state.log.load.buffer.size", INT, 5_242_880, at_least(1), effective=False,
         doc="Accepted for compatibility; a coordinator reads its log as it comes."),
    node("transaction.state.log.min.isr", INT, 2, at_least(1),
         doc="How many replicas of the coordinators' topic must have a decision before it counts."),
    node("transaction.state.log.num.partitions", INT, 50, at_least(1),
         doc="Partitions of the transaction coordinators' topic, when it is made."),
    node("transaction.state.log.replication.factor", SHORT, 3, at_least(1),
         doc="Replicas of the coordinators' topic; as many as there are brokers, where they are fewer."),
    node("transaction.state.log.segment.bytes", INT, 104_857_600, at_least(1048576),
         doc="Segment size of the coordinators' topic, when it is made."),
    node("transaction.two.phase.commit.enable", BOOLEAN, False,
         doc="Whether clients may keep transactions for an external two-phase commit (KIP-939)."),
    node("transactional.id.expiration.ms", INT, 604_800_000, at_least(1),
         doc="How long a transactional id nobody uses is remembered."),
)
# fmt: on
