"""How a node or a service starts another Python process: never with the working directory on its module path.

`python -m` puts the directory it is started in at the front of `sys.path`, before the standard library: a `msgspec.py`
or `json.py` that lies there would be executed with the rights of the node. `-P` (Python 3.11) leaves that entry out.
`-I` would also ignore PYTHONPATH and the packages of `pip install --user`, through which the node itself may be
installed, so the child could not import what its parent has imported.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_INSTALLED = ("site-packages", "dist-packages")  # on every Python's path, behind the standard library


def python_module(module: str) -> list[str]:
    """The beginning of a command line that runs a module of ours."""
    return [sys.executable, "-P", "-m", module]


def python_environment() -> dict[str, str]:
    """The environment of such a process: it finds the code that this one runs, also where that is not installed. An
    entry of PYTHONPATH that is empty or relative means the working directory and is left out."""
    ours = Path(__file__).parents[2]
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if Path(path).is_absolute()]
    if ours.name not in _INSTALLED:
        given.insert(0, str(ours))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return environment | ({"PYTHONPATH": os.pathsep.join(given)} if given else {})


def ends_with_parent(number: int = signal.SIGTERM) -> Callable[[], None]:
    """The `preexec_fn` of a child that is sent this signal when its parent is killed, so that none is left behind."""
    import ctypes  # before the fork: another thread may hold a lock of the import then

    library = ctypes.CDLL(None)

    def in_child() -> None:
        with suppress(OSError, AttributeError):  # not on Linux
            library.prctl(_SET_PARENT_DEATH_SIGNAL, number)

    return in_child
