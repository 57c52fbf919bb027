"""Which offsets of a partition have been written, kept in the bucket so that two writers cannot both write one.

Before a batch of offsets [first, next) is written, an object that says so is created at

    PREFIX/_barnabas/CONNECTOR/TOPIC/PARTITION/FIRST.json     {"first", "next", "objects", "writer"}

by a conditional put (If-None-Match: *), which succeeds for one writer only. That is a claim. Whoever finds one in its
way, a second worker or ourselves after a crash, finishes exactly that batch: the objects that the claim names are
created by conditional puts as well, so it does not matter who does it, nor how often. The next claim begins at `next`
and is made only when every object of the one before it is there. So claims are a chain without gaps or overlaps, and of
all claims only the last can be unfinished.

- **Where the chain starts.** The name of a first claim is not known in advance, so two writers could start two chains.
  `start.json`, created the same way, says the first offset; who comes second takes it from there.
- **The next offset** is `next` of the last claim, by name, if its objects are there, else its `first`. Names have
  offsets of 20 digits, so one listing gives the last. The claims decide, not the data: objects that a lifecycle rule
  has expired, or that somebody deleted, do not count as missing, unless they are of the last claim. That one gets a
  mark (`FIRST.done`) when the partition is given away. Without it (a crash, and then days until the next start), the
  last batch would be written again, which doubles nothing: it is gone.
- **A rule that expires claims as well** leaves nothing here for a partition that had no records for as long as the rule
  says. Then the group's offset counts, which was committed long before.
- **Old claims are deleted** when there are many; some are always kept. A writer that was paused for so long that the
  claim in its way is deleted can create it again; so after each claim it lists what comes after it. If there is
  something, the writer is the one who is late: it takes its claim back, having written nothing, and goes on from the
  last.
- **A store that ignores the condition** of a put is found out: `start.json` is created twice, and the second put has to
  fail.
"""

from __future__ import annotations

import re
import uuid
from contextlib import suppress
from typing import TypeVar
from urllib.parse import quote

import msgspec

from barnabas.connect.connectors.s3.store import Bucket
from barnabas.connect.errors import Unavailable

KEPT, MANY = 20, 120  # claims that stay when there are many, and how many are many
CLAIM_BYTES_MAX = 4_000_000
LOST_RACES_MAX = 10
DELETED_AT_ONCE = 1000
_NAME = re.compile(r"/(\d{20})\.(json|done)$")


Kind = TypeVar("Kind")


class Claim(msgspec.Struct, frozen=True):
    first: int
    next: int
    objects: tuple[str, ...]
    writer: str = ""


class Start(msgspec.Struct, frozen=True):
    first: int


class Claims:
    """Of one partition; used by one writer."""

    def __init__(self, bucket: Bucket, connector: str, topic: str, partition: int) -> None:
        self._bucket = bucket
        self.batches = f"{quote(connector, safe='')}/{quote(topic, safe='')}/{partition}"
        self._folder = bucket.path(f"_barnabas/{self.batches}")
        self._writer = uuid.uuid4().hex
        self._known: list[str] = []  # names of claims, oldest first

    @property
    def empty(self) -> bool:
        return not self._known

    def last(self) -> tuple[Claim | None, bool]:
        """The last claim, and whether its objects are all there."""
        names, done = [], ""
        for found in self._bucket.list(self._folder):
            if match := _NAME.search(found.name):
                if match[2] == "done":
                    done = match[1]
                else:
                    names.append(found.name)
                    del names[: -MANY - KEPT]  # a listing without end costs time, not memory
        self._known = names
        if not names:
            return None, False
        claim = self._read(names[-1])
        if claim is None:
            raise Unavailable(f"s3: {names[-1]} has just been deleted", "It is tried again")
        return claim, done == _digits(claim.first) or all(
            self._bucket.about(each) is not None for each in claim.objects
        )

    def start(self, first: int) -> int:
        """Where the chain starts: at `first`, unless somebody was there before us."""
        name, body = f"{self._folder}/start.json", msgspec.json.encode(Start(first))
        if self._bucket.create(name, body) and self._bucket.create(name, body):
            raise Unavailable(
                "s3: the store writes over an object though the request forbids it (If-None-Match)",
                "Use a store that has conditional writes: exactly once needs them",
            )
        return self._decode(name, self._bucket.get(name, CLAIM_BYTES_MAX) or b"", Start).first

    def started(self) -> int | None:
        name = f"{self._folder}/start.json"
        body = self._bucket.get(name, CLAIM_BYTES_MAX)
        return None if body is None else self._decode(name, body, Start).first

    def make(self, first: int, next_offset: int, objects: tuple[str, ...]) -> Claim | None:
        """The claim, if it is ours. None: somebody else's is there, see `last`."""
        claim = Claim(first, next_offset, objects, self._writer)
        name = f"{self._folder}/{_digits(first)}.json"
        for _ in range(LOST_RACES_MAX):
            if self._bucket.create(name, msgspec.json.encode(claim)):
                break
            found = self._read(name)
            if found == claim:
                break  # our own, of a request whose answer was lost
            if found is not None:
                return None
            # S3 refuses a put beside another that is not finished, too, and that one may fail: try again
        else:
            raise Unavailable(f"s3: {name} can neither be created nor read", "It is tried again")
        later = self._bucket.list(self._folder, after=f"{self._folder}/{_digits(first)}.k")  # after .done and .json
        if any(_NAME.search(found.name) for found in later):
            with suppress(Unavailable):  # it does no harm: the last claim counts
                self._bucket.delete([name])
            return None
        self._known.append(name)
        return claim

    def finished(self, claim: Claim) -> None:
        """Marks the last claim, so that nobody looks for its objects again."""
        self._bucket.put(f"{self._folder}/{_digits(claim.first)}.done", b"")

    def tidy(self) -> None:
        if len(self._known) >= MANY:
            old, self._known = self._known[:-KEPT], self._known[-KEPT:]
            with suppress(Unavailable):  # without the right to delete, a listing takes longer and that is all
                self._bucket.delete([*old, *(f"{each.removesuffix('.json')}.done" for each in old)])

    def reset(self, offset: int) -> None:
        """Forgets every claim; the chain starts at `offset`. Nobody writes meanwhile."""
        names = [found.name for found in self._bucket.list(self._folder)]
        for start in range(0, len(names), DELETED_AT_ONCE):
            self._bucket.delete(names[start : start + DELETED_AT_ONCE])
        self._bucket.put(f"{self._folder}/start.json", msgspec.json.encode(Start(offset)))

    def _read(self, name: str) -> Claim | None:
        body = self._bucket.get(name, CLAIM_BYTES_MAX)
        return None if body is None else self._decode(name, body, Claim)

    @staticmethod
    def _decode(name: str, body: bytes, kind: type[Kind]) -> Kind:
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.DecodeError:
            raise Unavailable(
                f"s3: {name} is not what this connector wrote", "Delete it, or give the connector another 'prefix'"
            ) from None


def _digits(offset: int) -> str:
    return f"{offset:020}"
