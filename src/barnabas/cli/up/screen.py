"""What `barnabas up` says: plain text with a little colour, because rich would cost more time than the node's start."""

from __future__ import annotations

import os
import time

from barnabas.cli.common import human
from barnabas.cli.common.screen import paint, say

DEFAULT_PORT = 9092


def process_seconds() -> float:
    """How long this process has existed: from exec, not from our first line: that is what a person waits for."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError, AttributeError):
        return time.process_time()


def ready(
    version: str, bootstrap: str, data: str, started_s: float, *, memory_bytes: int = 0, tutorial: bool = True
) -> None:
    """The address, where the data lie, how much memory clients can make the node take, and for a person three things to
    try next. A controller alone has no address for clients."""
    took = human.duration(max(0.01, started_s))
    name, took = paint("barnabas", "bold"), paint(f"ready in {took}", "dim")
    where = f"on {paint(bootstrap, 'green')}" if bootstrap else "as a controller, which clients do not speak to"
    say(f"{name} {version} is up {where}  {took}")
    say(f"{paint('data in', 'dim')} {data}")
    if memory_bytes:
        say(paint(f"clients can make it hold at most {human.size(memory_bytes)} of memory", "dim"))
    if not tutorial:
        return  # a journal or a file: nobody there types commands
    say()
    if bootstrap:
        say("Try, from another terminal:")
        for line in next_steps(bootstrap):
            say(f"  {line}")
        say()
    say(paint("Ctrl-C stops it cleanly.", "dim"))


def next_steps(bootstrap: str) -> list[str]:
    """Commands that work as they stand, for somebody who has never seen this program."""
    host, _, port = bootstrap.rpartition(":")
    reach = f"{'127.0.0.1' if host in ('0.0.0.0', '[::]', '') else host}:{port}"
    flag = "" if reach == f"127.0.0.1:{DEFAULT_PORT}" else f" -b {reach}"
    argument = "" if not flag else f', bootstrap="{reach}"'
    return [
        f"echo hello | barnabas produce greetings{flag}",
        f"barnabas consume greetings --follow --from beginning{flag}",
        f'python -c \'from barnabas import Producer; Producer({argument.removeprefix(", ")}).send("greetings", "hi")\'',
    ]


def stopped(seconds: float) -> None:
    say(f"stopped cleanly in {human.duration(max(0.001, seconds))}")
