"""Vote (52), versions 0-2: a member of the quorum asks for this one's vote (KIP-595). v1 names disks (KIP-853), v2 may
ask without meaning it yet: the pre-vote (KIP-996).
"""

from barnabas.broker.quorum.answering import answer as handle

__all__ = ["handle"]
