"""Whether the console shows pipelines, and where they live.

A pipeline is a process of the console's machine and acts as that machine's client profile, not as the person at the
browser. So by default only a console for this machine alone has the page (127.0.0.1, nobody signs in); elsewhere
`pipelines = "DIR"` in its --config file says that everybody who may change something may start and stop them.
"""

from __future__ import annotations

from pathlib import Path

from barnabas.console.options import LOOPBACK
from barnabas.console.problems import Problem
from barnabas.console.web.calls import Call
from barnabas.pipelines.framework.run_directory import default_home


def why_not(call: Call) -> str:
    """One sentence; empty where pipelines are shown."""
    options = call.options
    if options.pipelines:
        return ""
    if options.host not in LOOPBACK or options.users or call.connection.options.needs_login:
        return (
            "This console does not show pipelines: they act as its machine, not as the person who has signed in."
            ' Whoever runs it can allow that: pipelines = "DIR" in its --config file.'
        )
    return ""


def home(call: Call) -> Path:
    """Raises a Problem where pipelines are not shown."""
    if why := why_not(call):
        raise Problem(why, status=403)
    return Path(call.options.pipelines).expanduser() if call.options.pipelines else default_home()
