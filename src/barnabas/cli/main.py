"""The command `barnabas`: where it begins, and the one place where it ends badly.

`main` gives `up` and workers of `connect` their fast way in (see up/options.py, connect/quick.py), hands every other
command to typer, and turns whatever goes wrong into one line on stderr and an exit code (see failure.py). Nothing heavy
is imported at the top of this file.
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence

from barnabas.cli.common.failure import INTERRUPTED, Failure, of_os_error, report, tracing


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except Failure as failure:
        report(failure.line())
        return failure.code
    except Exception as error:
        if tracing():
            raise
        explained = _explain(error)
        report(explained.line())
        return explained.code


def _run(arguments: list[str]) -> int:
    if arguments and arguments[0] == "up":
        from barnabas.cli.up.options import quick

        options = quick(arguments[1:])
        if options is not None:
            from barnabas.cli.up.node import run

            return run(options)
    # A command that has something to take back (moves under way, a throttle, its place in a group) does so at Ctrl-C;
    # `timeout` and systemd end it with SIGTERM. Commands with a handler of their own replace this one.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminated)
    if arguments and arguments[0] == "connect":
        from barnabas.cli.connect.quick import quick as quick_worker

        work = quick_worker(arguments[1:])
        if work is not None:
            work()
            return 0
    from barnabas.cli.app import invoke

    return invoke(arguments)


def _terminated(*_: object) -> None:
    raise KeyboardInterrupt


def _reader_left() -> int:
    """`barnabas consume ... | head` is no failure. Python must not try to flush into the closed pipe at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _explain(error: Exception) -> Failure:
    """The one line for an error that a command did not foresee by itself."""
    client = sys.modules.get("barnabas.client.errors")
    if client is not None and isinstance(error, client.BarnabasError):
        return Failure(str(error))
    kafka = sys.modules.get("confluent_kafka")
    if kafka is not None and isinstance(error, kafka.KafkaException):
        from barnabas.cli.common.link import of_kafka_error

        return of_kafka_error(error)
    model = sys.modules.get("barnabas.model.errors")
    if model is not None and isinstance(error, model.KafkaError):
        return Failure(str(error))
    link = sys.modules.get("barnabas.link.errors")
    if link is not None and isinstance(error, link.LoginFailed):
        return Failure(str(error), "Look at the user and the password of the profile (BARNABAS_PROFILE, client.toml).")
    if isinstance(error, OSError):
        return of_os_error(error)
    return Failure(
        f"something unexpected happened: {type(error).__name__}: {error}",
        "Run it again with BARNABAS_TRACE=1 to see where, and please report it.",
    )


if __name__ == "__main__":
    sys.exit(main())
