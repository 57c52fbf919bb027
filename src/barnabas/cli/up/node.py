"""`barnabas up`: a node in this process, until Ctrl-C or SIGTERM.

Imports only what a node needs (no typer, no rich, no client): from exec to the first answer should take well under a
second. What can be wrong is found before the ready line and said in one: a taken port, a locked or unwritable
folder, a full disk, a setting that does not parse. A second signal while stopping ends the process at once.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.common.failure import INTERRUPTED, Failure, of_os_error
from barnabas.cli.up.logging import log_to_stderr
from barnabas.cli.up.options import UpOptions
from barnabas.cli.up.settings import load, may_have_local_profiles

if TYPE_CHECKING:
    from barnabas.broker.node import Node
    from barnabas.cli.common.child import ServiceChild
    from barnabas.model.settings import Settings


def run(options: UpOptions) -> int:
    if options.mirror is not None:
        from barnabas.cli.mirror.child import check

        check(options.mirror)
    if options.secure:
        os.umask(0o077)  # records, and what is kept of passwords, are for this user only
    if options.nodes is not None:
        from barnabas.cli.up import cluster as up_cluster

        return up_cluster.run(options)
    log_to_stderr(options)
    with _quick_imports():
        settings, data = load(options)
        import uvloop

        from barnabas.broker.node import Node

        if settings["metrics.listeners"]:  # now: in the node's start it would hold the loop
            import barnabas.broker.metrics.http.endpoint  # noqa: F401
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _folder_failure(error, data) from None
    return uvloop.run(_serve(Node, settings, options, data))


@contextmanager
def _quick_imports() -> Iterator[None]:
    """Two habits of importing that cost a seventh of the start, left out while the node is imported.

    The garbage collector walks again and again over classes that all stay; what is there afterwards is taken out of its
    sight, so that the first walk is not one over all of it. And msgspec asks for typing_extensions,
    fifty milliseconds of it, only to find what Python 3.11 has itself; it does without when it is not there.
    """
    absent = "typing_extensions" not in sys.modules
    if absent:
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    gc.disable()
    try:
        import msgspec  # noqa: F401

        if absent:
            del sys.modules["typing_extensions"]
            absent = False
        yield
    finally:
        gc.freeze()
        gc.enable()
        if absent:
            del sys.modules["typing_extensions"]


async def _serve(make: type[Node], settings: Settings, options: UpOptions, data: Path) -> int:
    from barnabas.broker.network.descriptors import raise_limit
    from barnabas.broker.network.listener import CannotListen
    from barnabas.model.errors import KafkaError
    from barnabas.storage.directory import DirectoryError

    raise_limit()
    _collect_rarely()
    node = make(settings, data)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _on_signal, stop)
    try:
        if not await _started(node, stop):
            return 0
    except CannotListen as error:
        raise Failure(str(error), "With --port 0 it takes any free one." if "taken" in str(error) else "") from None
    except DirectoryError as error:
        raise Failure(str(error), error.way_out) from None
    except KafkaError as error:
        raise Failure(error.message) from None
    except OSError as error:
        raise _folder_failure(error, data) from None
    if options.secure:
        from barnabas.cli.up.secure import make_admin

        await make_admin(node, options)
    elif all(listener.protocol == "PLAINTEXT" for listener in settings.client_listeners()):
        _forget_login(node.bootstrap, options)
    _tell_ready(node, options, data)
    services = _services(node, options)
    gc.freeze()  # the start has made little garbage, and a collection over thousands of partitions holds the loop
    waits = [asyncio.ensure_future(event.wait()) for event in (stop, node.stopped)]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    begun = time.monotonic()
    for service in services:
        await asyncio.to_thread(service.stop)
    await node.stop()
    if node.failure is not None:
        raise Failure(f"the node had to stop: {node.failure}", "Its next start checks and repairs the logs.")
    if not options.quiet:
        from barnabas.cli.up.screen import stopped

        stopped(time.monotonic() - begun)
    gc.freeze()  # the process ends: to look for garbage among thousands of partitions would take 0.7 s
    return 0


async def _started(node: Node, stop: asyncio.Event) -> bool:
    """False when a signal came first: a node of a cluster may wait long for its quorum."""
    start = asyncio.ensure_future(node.start())
    waits = [asyncio.ensure_future(event.wait()) for event in (stop, node.stopped)]
    await asyncio.wait([start, *waits], return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    if start.done():
        start.result()
        return True
    start.cancel()
    await asyncio.wait([start])
    if node.failure is not None:
        raise Failure(f"the node had to stop: {node.failure}", "Its next start checks and repairs the logs.")
    return False


def _collect_rarely() -> None:
    """This process is nothing but a node, whose requests leave no reference cycles: collect garbage rarely.
    From before the start on, which makes an object or more for each of thousands of partitions."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _on_signal(stop: asyncio.Event) -> None:
    if stop.is_set():
        os._exit(INTERRUPTED)
    stop.set()


def _forget_login(bootstrap: str, options: UpOptions) -> None:
    """What an earlier `up --secure` has left for this address would make commands ask a plain node for TLS."""
    if not may_have_local_profiles():
        return
    from barnabas.client.common.local_profiles import forget, local_file

    if forget(bootstrap) and not options.quiet:
        from barnabas.cli.common.screen import note

        note(f"removed {local_file(bootstrap)}: it was for a secured node at this address")


def _tell_ready(node: Node, options: UpOptions, data: Path) -> None:
    from barnabas.cli.up.screen import process_seconds, ready

    seconds = process_seconds()
    try:
        if options.quiet:
            sys.stdout.write(f"{node.bootstrap}\n")
        else:
            ready(
                _version(),
                node.bootstrap if node.has_broker else "",
                str(data),
                seconds,
                memory_bytes=node.memory.total_bytes,
                tutorial=sys.stdout.isatty() and not options.secure and not options.witness,
            )
            if options.secure:
                from barnabas.cli.up.secure import tell

                tell(node.bootstrap, options, data)
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads; the node serves all the same
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _services(node: Node, options: UpOptions) -> list[ServiceChild]:
    found: list[ServiceChild] = []
    registry = None
    if options.registry:
        from barnabas.cli.common.screen import note
        from barnabas.cli.registry.child import RegistryChild

        child = RegistryChild(node.bootstrap, note)
        registry = child.address
        found.append(child)
    if options.console:
        from barnabas.cli.common.screen import note
        from barnabas.cli.console.child import ConsoleChild

        found.append(ConsoleChild(node.bootstrap, note, registry=registry))
    if options.mirror is not None:
        from barnabas.cli.common.screen import note
        from barnabas.cli.mirror.child import MirrorChild

        found.append(MirrorChild(options.mirror, note))
    return found


def _version() -> str:
    """importlib.metadata and what it imports cost 15 ms of the start; the folder's name says the same."""
    for place in map(Path, sys.path):
        found = next(place.glob("barnabas-*.dist-info"), None) if place.is_dir() else None
        if found is not None:
            return found.stem.removeprefix("barnabas-")
    from importlib import metadata

    return metadata.version("barnabas")


def _folder_failure(error: OSError, data: Path) -> Failure:
    """An error of the file system while the data folder is opened; it names the folder even if the system does not."""
    if isinstance(error, (FileExistsError, NotADirectoryError)):
        return Failure(f"{data} is a file, not a folder", "Use a folder with --data.")
    if not error.filename:
        error = OSError(error.errno, error.strerror or str(error), str(data))
    return of_os_error(error)
