"""What storage says when bytes on disk are not the bytes that were written: which file, where, and what is wrong.

Damage is never served. A reader gets `Damaged`, which is a KafkaError with CORRUPT_MESSAGE, so a client sees Kafka's
own answer; the file and the position are for the person who has to repair it.
"""

from typing import NamedTuple

from barnabas.model.errors import ErrorCode, KafkaError


class Damage(NamedTuple):
    file: str
    position: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file} at position {self.position}: {self.reason}"


class Damaged(KafkaError):
    def __init__(self, damage: Damage) -> None:
        super().__init__(ErrorCode.CORRUPT_MESSAGE, str(damage))
        self.damage = damage
