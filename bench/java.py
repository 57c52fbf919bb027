"""Apache Kafka's own ProducerPerformance as a load: the Java client with its defaults, in a JVM of its own.

Its rate leaves out the start of the JVM and includes the JVM's warming up, on both servers alike.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from .clients import payloads

SUMMARY = re.compile(r"(\d+) records sent, ([\d.]+) records/sec.* ([\d.]+) ms 50th.* ([\d.]+) ms 99th")


class ToolFailed(Exception):
    """A Java tool ended with an error, or printed no summary."""


def java_version() -> str:
    done = subprocess.run(["java", "-version"], capture_output=True, text=True)
    found = re.search(r'version "([^"]+)"', done.stderr + done.stdout)
    return found[1] if found else "unknown"


def produce(libs: Path, bootstrap: str, topic: str, records: int, size: int, compression: str) -> dict[str, float]:
    with tempfile.NamedTemporaryFile("wb", suffix=".txt") as events:
        events.write(b"\n".join(payloads(size)))
        events.flush()
        command = [
            "java", "-Xmx512M", "-cp", f"{libs}/*", "org.apache.kafka.tools.ProducerPerformance",
            "--bootstrap-server", bootstrap, "--topic", topic, "--num-records", str(records), "--throughput", "-1",
            "--payload-file", events.name, "--command-property", "acks=all", f"compression.type={compression}",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    lines = [found for line in done.stdout.splitlines() if (found := SUMMARY.search(line))]
    if done.returncode or not lines:
        raise ToolFailed(f"ProducerPerformance: {(done.stderr or done.stdout).strip()[-500:]}")
    sent, rate, p50, p99 = lines[-1].groups()
    if int(sent) != records:
        raise ToolFailed(f"ProducerPerformance sent {sent} of {records} records")
    return {
        "records_per_s": round(float(rate)),
        "mb_per_s": round(float(rate) * size / 1e6, 1),
        "ack_p50_ms": float(p50),
        "ack_p99_ms": float(p99),
    }
