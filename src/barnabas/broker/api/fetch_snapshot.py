"""FetchSnapshot (59), versions 0-1: a piece of a snapshot of the metadata, for a node that is far behind (KIP-630).

Versions: 1 addresses and directory ids (KIP-853).
"""

from barnabas.broker.quorum.answering import answer as handle

__all__ = ["handle"]
