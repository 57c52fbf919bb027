"""Dead letters of a sink: acknowledged before the group's offset moves past them."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import KafkaError, KafkaException, Producer

from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import Unavailable
from barnabas.connect.runtime.dead_letters import DeadLetter

_WAIT_S = 30.0


class DeadLetterWriter:
    def __init__(self, cluster: Cluster, definition: Definition, task: int) -> None:
        self._cluster = cluster
        self._definition = definition
        self._task = task
        self._producer: Producer | None = None  # most tasks never need one

    def write(self, letters: Sequence[DeadLetter]) -> None:
        """Returns when all are in the log."""
        if self._producer is None:
            self._producer = self._cluster.producer(linger_ms=5, message_max_bytes=100_000_000)
        problems: list[KafkaError] = []

        def note(error: KafkaError | None, _: object) -> None:
            if error is not None:
                problems.append(error)

        for each in letters:
            self._produce(self._producer, each, note)
        if self._producer.flush(_WAIT_S) or problems:
            reason = problems[0].str() if problems else f"no answer in {_WAIT_S:.0f} s"
            raise Unavailable(f"dead letters cannot be written to {self._definition.dead_topic}: {reason}")

    def _produce(self, producer: Producer, letter: DeadLetter, note: object) -> None:
        headers = letter.all_headers(self._definition, self._task)
        while True:
            try:
                producer.produce(
                    self._definition.dead_topic,
                    value=letter.value,
                    key=letter.key,
                    headers=headers,  # type: ignore[arg-type]  # a list of another element type
                    timestamp=letter.timestamp_ms or 0,
                    on_delivery=note,  # type: ignore[arg-type]
                )
                return
            except BufferError:
                producer.poll(0.1)
            except KafkaException as error:
                raise Unavailable(f"a dead letter cannot be written: {error.args[0].str()}") from None

    def close(self) -> None:
        if self._producer is not None:
            self._producer.flush(_WAIT_S)
            self._producer = None
