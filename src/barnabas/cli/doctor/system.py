"""The doctor's look at the machine: the limits that bite a node under load, long before they do."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from barnabas.cli.common import human
from barnabas.cli.doctor.command import Check

_OPEN_FILES = 16_384  # 10,000 connections, some thousand segments in use, and room
_OPEN_FILES_LEAST = 1_024
_SPACE_WARN = 0.10
_SPACE_FAIL_BYTES = 256 << 20
_MAPS_LEAST = 65_530  # the kernel's default; a Kafka on the same machine wants more, we map nothing
_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "glusterfs", "ceph"}
_MEMORY = {"tmpfs", "ramfs"}


def checks(folders: Sequence[Path]) -> Iterator[Check]:
    yield _open_files()
    for folder in folders:
        yield from _folder(folder)
    yield _memory()
    yield _maps()
    yield _clock_kept()


def _open_files() -> Check:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= _OPEN_FILES:
        return Check("ok", "open files", "no limit" if soft == resource.RLIM_INFINITY else f"limit {soft:,}")
    top = "as root, in /etc/security/limits.conf" if hard < _OPEN_FILES else f"ulimit -n {_OPEN_FILES}"
    told = f"limit {soft:,}; connections and segments take one each"
    return Check("warn" if soft >= _OPEN_FILES_LEAST else "fail", "open files", told, f"Raise it: {top}.")


def _folder(folder: Path) -> Iterator[Check]:
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not os.access(existing, os.W_OK):
        yield Check(
            "fail", "data folder", f"{folder} cannot be written", "Use another one with --data, or change its owner."
        )
        return
    made = "" if existing == folder else " (will be made)"
    kind = _filesystem(existing)
    if kind in _NETWORK:
        way_out = "Use a local disk: locks and fsync of network file systems are not to be trusted."
        yield Check("warn", "data folder", f"{folder}{made} lies on {kind}, a network file system", way_out)
    elif kind in _MEMORY:
        yield Check(
            "warn", "data folder", f"{folder}{made} lies on {kind}, in memory", "A restart of the machine loses it."
        )
    else:
        yield Check("ok", "data folder", f"{folder}{made}, on {kind or 'an unknown file system'}")
    usage = shutil.disk_usage(existing)
    free = f"{human.size(usage.free)} free of {human.size(usage.total)}"
    if usage.free < _SPACE_FAIL_BYTES:
        yield Check("fail", "disk space", free, "Free some, or use a folder on another disk.")
    elif usage.free < usage.total * _SPACE_WARN:
        yield Check("warn", "disk space", free, "Free some, or lower log.retention.bytes.")
    else:
        yield Check("ok", "disk space", free)


def _filesystem(path: Path) -> str:
    """The type of the file system a path is on: the longest mount point that holds it."""
    real = os.path.realpath(path)
    best, kind = "", ""
    try:
        lines = Path("/proc/mounts").read_text().splitlines()
    except OSError:
        return ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        mount = fields[1].replace("\\040", " ")
        inside = real == mount or real.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, fields[2]
    return kind


def _memory() -> Check:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        values = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if len(line.split()) > 1}
        free, total = values["MemAvailable"], values["MemTotal"]
    except (OSError, ValueError, KeyError):
        return Check("ok", "memory", "this system does not tell")
    told = f"{human.size(free)} of {human.size(total)} left for the page cache"
    if free < 256 << 20:
        return Check(
            "warn", "memory", told, "A node takes about 64 MiB; the rest is the page cache that makes reads fast."
        )
    return Check("ok", "memory", told)


def _maps() -> Check:
    try:
        limit = int(Path("/proc/sys/vm/max_map_count").read_text())
    except (OSError, ValueError):
        return Check("ok", "memory maps", "this system has no limit to look at")
    if limit < _MAPS_LEAST:
        return Check(
            "warn", "memory maps", f"vm.max_map_count is {limit:,}", f"sysctl -w vm.max_map_count={_MAPS_LEAST}"
        )
    return Check("ok", "memory maps", f"vm.max_map_count is {limit:,}")


def _clock_kept() -> Check:
    """adjtimex(2) answers 5 (TIME_ERROR) when nobody keeps the clock right."""
    import ctypes

    try:
        libc = ctypes.CDLL(None, use_errno=True)
        state = libc.adjtimex(ctypes.create_string_buffer(512))
    except (OSError, AttributeError):
        return Check("ok", "clock", "this system does not tell whether it is kept")
    if state == 5:
        return Check("warn", "clock", "nothing keeps it in step", "Run NTP (chrony, systemd-timesyncd).")
    return Check("ok", "clock", "kept in step" if state >= 0 else "this system does not tell whether it is kept")
