"""Why the operating system refused, in words for a person."""

import os


def reason_of(error: OSError) -> str:
    """Without the address or the path that Python adds: the message has it already. A name that is not resolved has a
    number of its own, which is no errno."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()
    return (error.strerror or str(error)).lower()
