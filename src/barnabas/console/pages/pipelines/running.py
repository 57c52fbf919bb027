"""Starts a pipeline that ships, as a process of its own that outlives the console, and stops one that runs.

What it prints goes to `console.log` in its folder: a run that could not begin says there why. The options are those
that the pipeline has; their values are arguments of a command line, seen by no shell.
"""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import msgspec

from barnabas.console.pages.pipelines.allowed import home
from barnabas.console.problems import NotFound, Problem
from barnabas.console.web.calls import Call
from barnabas.model.processes import python_environment, python_module
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import registry
from barnabas.pipelines.framework.run_directory import PARTS, RunDirectory, houses

OUTPUT = "console.log"
RUNNING_MAX = 4  # started by one console at the same time: each is a JVM of 1 GB or more
VALUE_MAX_CHARS = 1_000
GENERATE_MAX = 100_000.0
_STOP_SECONDS = 25.0

_processes: dict[Path, subprocess.Popen[bytes]] = {}  # by folder; what this console has started
_starting = asyncio.Lock()


class Asked(msgspec.Struct):
    part: str = "now"
    generate: float | None = None
    options: dict[str, str] = {}


def is_starting(folder: Path) -> bool:
    """Begun by us, and not ended; whether it has said anything is for the caller."""
    process = _processes.get(folder)
    return process is not None and process.poll() is None


async def start(call: Call) -> object:
    folder, name, asked = home(call), call.path("pipeline"), await call.body(Asked)
    arguments = command(name, asked)
    house = RunDirectory(folder, name)
    async with _starting:  # one after the other: two people may press the same button
        return await _start(call, folder, house, asked, arguments)


async def _start(call: Call, folder: Path, house: RunDirectory, asked: Asked, arguments: list[str]) -> object:
    name = house.pipeline
    if await asyncio.to_thread(house.state, asked.part) is not None or is_starting(house.folder):
        raise Problem(f"{name} runs already", "Stop it first.", 409)
    if sum(is_starting(each) for each in list(_processes)) >= RUNNING_MAX:
        raise Problem(f"this console runs {RUNNING_MAX} pipelines already", "Stop one, or use barnabas pipeline run.")
    arguments += ["--bootstrap", call.connection.options.bootstrap, "--data", str(folder), "--quiet"]
    try:
        _processes[house.folder] = await asyncio.to_thread(_begin, house.folder, arguments)
    except OSError as error:
        raise Problem(f"{name} cannot be started: {error.strerror or error}", status=500) from None
    return {"started": name}


def command(name: str, asked: Asked) -> list[str]:
    """`barnabas pipeline run ...`, of what there is only; a Problem names what there is not."""
    pipeline = next((each for each in registry.built_in() if each.name == name), None)
    if pipeline is None:
        raise NotFound(f"there is no pipeline {name[:100]!r} that ships", f"There are {', '.join(registry.BUILT_IN)}.")
    if asked.part not in PARTS or not pipeline.has(asked.part):
        raise Problem(f"{name} has nothing to run {asked.part[:20]!r}")
    known = {each.name for each in pipeline.options}
    if unknown := sorted(set(asked.options) - known):
        raise Problem(f"{name} has no option {unknown[0][:100]!r}", f"It has {', '.join(sorted(known)) or 'none'}.")
    told = [f"--{asked.part}"]
    for option, value in asked.options.items():
        if len(value) > VALUE_MAX_CHARS or "\0" in value:
            raise Problem(f"the value of {option} is too long")
        told.append(f"--set={option}={value}")
    if asked.generate is not None:
        if asked.part != "now" or not pipeline.has("generate"):
            raise Problem("data is generated only for a stream, and only where the pipeline has a generator")
        if not 0.1 <= asked.generate <= GENERATE_MAX:
            raise Problem(f"generate is 0.1 to {GENERATE_MAX:.0f} records a second")
        told.append(f"--generate={asked.generate:g}")
    return [*python_module("barnabas.cli.main"), "pipeline", "run", name, *told]


def _begin(folder: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / OUTPUT).open("wb") as output:
        return subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=python_environment(),
            start_new_session=True,  # Ctrl-C at the console is not meant for it
        )


async def stop(call: Call) -> object:
    folder, name = home(call), call.path("pipeline")
    ran = await asyncio.to_thread(houses, folder)
    house = next((each for each in ran if each.pipeline == name), None)
    if house is None and name in registry.BUILT_IN:
        house = RunDirectory(folder, name)
    if house is None:
        raise NotFound(f"no pipeline {name[:100]!r} has run here")
    try:
        stopped = await asyncio.to_thread(lambda: [house.stop(part, _STOP_SECONDS) for part in PARTS])
    except PipelineError as error:
        raise Problem(str(error), "It has been asked to end; look again in a moment.", 504) from None
    except OSError as error:
        raise Problem(f"{name} cannot be stopped from here: {error.strerror or error}", "Who started it?") from None
    if not any(stopped) and not await asyncio.to_thread(_end_unborn, house.folder):
        raise Problem(f"{name} does not run", status=409)
    return {"stopped": name}


def _end_unborn(folder: Path) -> bool:
    """One that we have started and that has not come to tell of itself yet."""
    if not is_starting(folder):
        return False
    process = _processes[folder]
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True
