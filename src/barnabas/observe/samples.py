"""Prometheus' text as samples: a small, quick parser of what nodes write (other exporters' text is read as well).

metrics = parse(text)
metrics.value("barnabas_ready")                                         one sample, None without it
metrics.total("kafka_server_brokertopicmetrics_bytesin_total", topic="t")   the sum of those with these labels
for labels, value in metrics.rows("kafka_consumergroup_lag_seconds"): ...
"""

import re
from collections.abc import Iterator

_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_UNESCAPED = {"n": "\n"}

Labels = dict[str, str]


class Metrics:
    """The samples of one scrape, by name. Labels are read when they are asked for: most never are."""

    __slots__ = ("_samples",)

    def __init__(self, samples: dict[str, list[tuple[str, float]]]) -> None:
        self._samples = samples

    def __contains__(self, name: str) -> bool:
        return name in self._samples

    def names(self) -> list[str]:
        return list(self._samples)

    def rows(self, name: str) -> Iterator[tuple[Labels, float]]:
        for text, value in self._samples.get(name, ()):
            yield labels_of(text), value

    def value(self, name: str, **labels: str) -> float | None:
        """Of the one sample with exactly these labels."""
        for text, value in self._samples.get(name, ()):
            if (not text and not labels) or labels_of(text) == labels:
                return value
        return None

    def total(self, name: str, **labels: str) -> float:
        """Of the samples that have these labels, whatever others they have; 0 without one."""
        wanted = labels.items()
        return sum(value for found, value in self.rows(name) if wanted <= found.items())


def parse(text: str) -> Metrics:
    """Raises ValueError for a line that is no sample."""
    samples: dict[str, list[tuple[str, float]]] = {}
    for line in text.split("\n"):
        if not line or line[0] == "#":
            continue
        brace = line.find("{")
        if brace < 0:
            name, _, rest = line.partition(" ")
            labels = ""
        else:
            end = line.rfind("}")
            if end < brace:
                raise ValueError(f"not a sample: {line[:80]!r}")
            name, labels, rest = line[:brace], line[brace + 1 : end], line[end + 1 :]
        samples.setdefault(name, []).append((labels, float(rest.split(None, 1)[0] if rest.strip() else "x")))
    return Metrics(samples)


def labels_of(text: str) -> Labels:
    """Of the text between the braces."""
    if "\\" not in text:
        return dict(_LABEL.findall(text))
    return {name: _ESCAPED.sub(_unescaped, value) for name, value in _LABEL.findall(text)}


def _unescaped(match: re.Match[str]) -> str:
    return _UNESCAPED.get(match[1], match[1])
