"""What the figures depend on: the machine (never its name), the versions, the date."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import time
from pathlib import Path

import confluent_kafka

from .jars import ROOT, kafka_version
from .java import java_version


def _first(path: str, key: str) -> str:
    for line in Path(path).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return "unknown"


def _commit() -> str:
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def machine() -> dict[str, str]:
    memory_gb = int(_first("/proc/meminfo", "MemTotal").split()[0]) / 1024 / 1024
    return {
        "CPU": f"{os.cpu_count()} x {_first('/proc/cpuinfo', 'model name')}",
        "memory": f"{memory_gb:.0f} GB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
    }


def versions(libs: Path) -> dict[str, str]:
    return {
        "Apache Kafka": kafka_version(libs) or "unknown",
        "Barnabas": f"{importlib.metadata.version('barnabas')} ({_commit()})",
        "Python": platform.python_version(),
        "uvloop": importlib.metadata.version("uvloop"),
        "Java": java_version(),
        "librdkafka": str(confluent_kafka.libversion()[0]),
    }


def today() -> str:
    return time.strftime("%Y-%m-%d")
