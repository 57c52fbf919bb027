"""Node settings: the audit trail. They are our own; Kafka has none, so they are not shown unless set."""

from barnabas.model.settings.rows import BOOLEAN, INT, LIST, LONG, SHORT, STRING, node
from barnabas.model.settings.valid import at_least, list_of

# fmt: off
ROWS = (
    node("audit.data.interval.ms", LONG, 3_600_000, at_least(1000), internal=True,
         doc="After how long a session's next access to a topic is an event of the audit trail again."),
    node("audit.data.topics", LIST, ("*",), list_of(), internal=True,
         doc="Topics of which each session's first READ and WRITE is an event: names, prefixes (NAME*); empty: none."),
    node("audit.enable", BOOLEAN, False, internal=True,
         doc="Keeps an audit trail in the topic __audit: refusals, logins, administration, access to data. On with "
             "up --secure."),
    node("audit.log.file", STRING, "", internal=True,
         doc="A file that gets every event of this node too, a line of JSON each; empty: none."),
    node("audit.log.file.max.bytes", LONG, 104_857_600, at_least(4096), internal=True,
         doc="When audit.log.file is that large it is renamed to FILE.1, in place of the one before, and begun anew."),
    node("audit.repeat.interval.ms", LONG, 60_000, at_least(100), internal=True,
         doc="Within this time events that are the same are counted, and become one event with a count."),
    node("audit.topic.num.partitions", INT, 1, at_least(1), internal=True,
         doc="Partitions of __audit, when it is made; a node writes to one of them."),
    node("audit.topic.replication.factor", SHORT, 3, at_least(1), internal=True,
         doc="Replicas of __audit; as many as there are brokers, where they are fewer."),
    node("audit.topic.retention.bytes", LONG, 1_073_741_824, at_least(1_048_576), internal=True,
         doc="How much of a partition of __audit is kept, when it is made."),
    node("audit.topic.retention.ms", LONG, 2_592_000_000, at_least(-1), internal=True,
         doc="How long events are kept in __audit, when it is made; -1: for ever."),
)
# fmt: on
