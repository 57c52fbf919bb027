"""A writer as a process of its own, to be killed: `writing URL INDEX FIRST END SEED`. Says each batch that it
has written."""

from __future__ import annotations

import random
import sys

from barnabas.connect.connectors.opensearch.sink import OpensearchSink
from tests.support.delivered import numbered


def main(url: str, index: str, first: int, end: int, seed: int) -> None:
    sink = OpensearchSink("orders", {"url": url, "index": index, "metadata": "kafka", "batch_records": 40})
    writer, rng = sink.open("orders", 0), random.Random(seed)
    while first < end:
        upto = min(end, first + rng.randrange(1, 150))
        assert not writer.write(numbered(first, upto), upto)
        first = upto
        print(first, flush=True)
    writer.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
