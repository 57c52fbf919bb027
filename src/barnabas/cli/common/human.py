"""Numbers as people read them: 1,234,567; 1.2 MiB; 3 min 20 s; 29,000/s.

Pure text, no colours. Whatever a program should read goes out as plain numbers with --json instead.
"""

from datetime import datetime
from functools import lru_cache

_DAY = 86_400


def count(number: int) -> str:
    return f"{number:,}"


def plural(number: int, noun: str, many: str = "") -> str:
    """`1 record`, `2 records`."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def size(number_bytes: float) -> str:
    """Binary units, because Kafka's settings count in them (1 GiB segments, 16 KiB batches)."""
    if number_bytes < 0:
        return f"-{size(-number_bytes)}"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if number_bytes < 1024 or unit == "TiB":
            digits = 0 if unit == "B" or number_bytes >= 100 or number_bytes == int(number_bytes) else 1
            return f"{number_bytes:.{digits}f} {unit}"
        number_bytes /= 1024
    raise AssertionError("the last unit takes everything")


def duration(seconds: float) -> str:
    """The two largest units that matter: `0.3 ms`, `4.1 s`, `3 min 20 s`, `2 d 5 h`."""
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if seconds < 0.001:
        return "0 s" if seconds == 0 else f"{seconds * 1000:.2f} ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.01 else f"{seconds * 1000:.1f} ms"
    if seconds < 60:
        return f"{int(seconds)} s" if seconds == int(seconds) else f"{seconds:.1f} s"
    whole = round(seconds)
    days, rest = divmod(whole, _DAY)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (left, "s")]
    first = next(index for index, (amount, _) in enumerate(parts) if amount)
    return " ".join(f"{amount} {unit}" for amount, unit in parts[first : first + 2] if amount)


def rate(amount: float, seconds: float) -> str:
    """`29,000/s`: three meaningful digits, because the fourth is noise."""
    per_second = amount / seconds if seconds > 0 else 0.0
    if per_second >= 1000:
        step = 10 ** (len(str(int(per_second))) - 3)
        return f"{round(per_second / step) * step:,.0f}/s"
    return f"{per_second:.0f}/s" if per_second >= 10 else f"{per_second:.1f}/s"


def moment(epoch_ms: int) -> str:
    """Local wall-clock time to the millisecond; `-` when a record carries none."""
    if epoch_ms < 0:
        return "-"
    try:
        return f"{_second(epoch_ms // 1000)}.{epoch_ms % 1000:03d}"
    except (OverflowError, ValueError, OSError):
        return str(epoch_ms)


@lru_cache(maxsize=1024)
def _second(epoch_s: int) -> str:
    """Records come in crowds of the same second; the calendar costs more than all the rest of a line."""
    return datetime.fromtimestamp(epoch_s).isoformat(sep=" ", timespec="seconds")


def setting(name: str, value: str | None) -> str:
    """What a setting's value means, when its bare number does not say: `604800000` of retention.ms is `7 d`."""
    if value is None or not value.lstrip("-").isdigit():
        return ""
    number = int(value)
    if number >= 2**63 - 1:
        return "no limit"
    if number == -1 and name.endswith((".ms", ".bytes", ".minutes", ".hours")):
        return "no limit"
    if number <= 0:
        return ""
    if name.endswith((".ms", "interval.ms")):
        return duration(number / 1000) if number >= 1000 else ""
    if name.endswith(".bytes") or ".bytes." in name:
        return size(number) if number >= 1024 else ""
    if name.endswith(".minutes"):
        return duration(number * 60)
    if name.endswith(".hours"):
        return duration(number * 3600)
    return ""
