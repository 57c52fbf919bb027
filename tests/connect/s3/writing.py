"""A writer as a process of its own, to be killed: `writing OPTIONS TOPIC END SEED`, with options as JSON. It reads on
from the offset that the bucket says, writes in parts of any size, and says how far everything is durable."""

from __future__ import annotations

import json
import random
import sys

from barnabas.connect.connectors.s3.sink import S3Sink
from tests.support.delivered import numbered

STEP_MS = 20_000  # 180 records an hour


def main(options: str, topic: str, end: int, seed: int) -> None:
    rng = random.Random(seed)
    writer = S3Sink("lake", json.loads(options)).open(topic, 0)
    first = writer.next_offset() or 0
    while first < end:
        upto = min(end, first + rng.randrange(1, 120))
        assert not writer.write(numbered(first, upto, topic=topic, step_ms=STEP_MS), upto)
        first = upto
        if rng.random() < 0.5:
            print(writer.flush(rng.random() < 0.5), flush=True)
    print(writer.flush(True), flush=True)
    writer.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
