"""How a command says that it could not.

A command that cannot go on raises `Failure` with one line: what happened, and the way out. `main` prints that line on
stderr and leaves with the exit code. A person never sees a traceback for a wrong topic name, a node that is not there
or a file that cannot be read; `BARNABAS_TRACE=1` brings it back for whoever works on the code.

Exit codes: 0 done, 1 failed, 2 used wrongly, 130 stopped by Ctrl-C (128 + SIGINT, as shells expect).
"""

import os
import sys

FAILED = 1
USAGE = 2
INTERRUPTED = 130


class Failure(Exception):
    """One clear line for the person at the terminal, and the exit code."""

    def __init__(self, message: str, way_out: str = "", code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.way_out = way_out
        self.code = code

    def line(self) -> str:
        text = " ".join(self.message.split())
        if not self.way_out:
            return text
        return f"{text}{'' if text.endswith(('.', '?', '!')) else '.'} {self.way_out}"


def usage(message: str, way_out: str = "") -> Failure:
    """The command was asked for something that makes no sense: exit code 2."""
    return Failure(message, way_out, USAGE)


def report(message: str) -> None:
    """The line on stderr. A closed stderr is no reason to fail twice."""
    colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    name = "\x1b[31mbarnabas:\x1b[0m" if colour else "barnabas:"
    try:
        sys.stderr.write(f"{name} {message}\n")
        sys.stderr.flush()
    except OSError:
        pass


def warn(message: str) -> None:
    """Something a person should know, that stops nothing."""
    report(f"warning: {message}")


def tracing() -> bool:
    return bool(os.environ.get("BARNABAS_TRACE"))


def of_os_error(error: OSError) -> Failure:
    """What an operating-system error means to a person who did not write this program."""
    import errno

    where = f" {error.filename}" if error.filename else ""
    reason = (error.strerror or str(error)).lower()
    ways = {
        errno.ENOSPC: "Free some space, or use a folder on another disk with --data.",
        errno.EDQUOT: "Free some space, or use a folder on another disk with --data.",
        errno.EACCES: "Check who owns it, or use another one.",
        errno.EPERM: "Check who owns it, or use another one.",
        errno.EROFS: "Use a folder on a disk that can be written.",
        errno.EMFILE: "Raise the limit of open files: ulimit -n 65536.",
        errno.EADDRINUSE: "Use another port with --port, or --port 0 for any free one.",
        errno.ENOENT: "Check the path.",
    }
    return Failure(f"{reason}:{where}" if where else reason, ways.get(error.errno or 0, ""))
