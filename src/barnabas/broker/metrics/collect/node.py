"""The node itself: its build, whether it is ready, what is wrong with it, its process and its disk."""

from collections import Counter
from collections.abc import Iterable, Iterator

from barnabas.broker.metrics.exposition import family, labels, single
from barnabas.broker.metrics.health import Health
from barnabas.broker.metrics.loop_watchdog import LoopHolds
from barnabas.broker.metrics.machine import Reading


def collect(health: Health, holds: LoopHolds, *, is_ready: bool, started_s: float, build: dict[str, str]) -> str:
    problems = Counter(problem.what for problem in health.problems())
    return (
        family("barnabas_build_info", [(labels(**build), 1)])
        + single("barnabas_ready", int(is_ready))
        + single("barnabas_start_time_seconds", round(started_s, 3))
        + family("barnabas_problems", [(labels(what=what), count) for what, count in sorted(problems.items())])
        + single("barnabas_loop_stalls_total", holds.count)
        + single("barnabas_loop_stall_worst_seconds", holds.worst_ms / 1000)
    )


def machine(reading: Reading, full_in_seconds: float | None) -> Iterator[str]:
    yield single("process_cpu_seconds_total", round(reading.cpu_seconds, 3))
    yield single("process_resident_memory_bytes", reading.memory_bytes)
    yield single("process_open_fds", reading.descriptors)
    yield single("process_max_fds", reading.descriptors_max)
    yield single("barnabas_disk_total_bytes", reading.disk_total)
    yield single("barnabas_disk_free_bytes", reading.disk_free)
    if full_in_seconds is not None:
        yield single("barnabas_disk_full_in_seconds", round(full_in_seconds))


def connections(by_listener: Iterable[tuple[str, int]], failed_logins: int) -> str:
    name = "kafka_server_socket_server_metrics_connection_count"
    return family(name, [(labels(listener=listener), count) for listener, count in by_listener]) + single(
        "barnabas_failed_logins_total", failed_logins
    )


def throttled(totals: Iterable[tuple[str, str, int, int]]) -> str:
    """Of each quota and rule, how often and for how many milliseconds."""
    rows = [(labels(quota=quota, rule=rule), count, time_ms) for quota, rule, count, time_ms in totals]
    return family("barnabas_throttled_total", [(text, count) for text, count, _ in rows]) + family(
        "barnabas_throttled_seconds_total", [(text, time_ms / 1000) for text, _, time_ms in rows]
    )
