"""How many files and sockets the process may have open (RLIMIT_NOFILE), and who gets them.

A third at most is for segment files (storage/files.py), a part is kept free for files that are open for a moment
(indexes, checkpoints, snapshots, connections to other nodes, one for a connection that is refused), and the rest is for
clients. So a node under a low limit refuses connections before its log lacks a descriptor.
"""

import logging
import resource

from barnabas.model import limits
from barnabas.storage.files import FILES

log = logging.getLogger(__name__)

_KEPT_FREE_MAX = 256


def raise_limit() -> None:
    """The soft limit to the hard one: a node needs no permission for that. For a process that is nothing but a node."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError) as error:
            log.warning("the limit of open files stays at %d: %s", soft, error)
    FILES.fit()
    if connections_max() < limits.CONNECTIONS_LOW:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        log.warning(
            "%d files may be open: %d clients, %d segments at most. Raise the limit: ulimit -n (systemd: LimitNOFILE).",
            soft,
            connections_max(),
            FILES.maximum,
        )


def connections_max() -> int:
    """How many clients the limit leaves room for."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits.CONNECTIONS_MAX
    kept_free = min(soft // 4, _KEPT_FREE_MAX)
    return max(soft - FILES.maximum - kept_free, 1)
