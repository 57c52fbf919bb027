"""Validates and recompresses the records of large batches beside other work of the loop.

Python code (decoding records) runs in steps of a millisecond with other connections served in between: a thread would
compete with the loop for the interpreter and delay it for longer. A codec runs in a thread, where it does not hold the
interpreter. Few batches are open at a time, since a small one may open to a hundred megabytes.

The caller gives bytes of its own: the receive buffer is used again before this is done. The order of appends is that of
the requests of a connection, which handles nothing else meanwhile (a coroutine, see connection.py).
"""

import asyncio
from concurrent.futures import Executor

from barnabas.broker.clock import wall_ms
from barnabas.broker.partition.config import PartitionConfig
from barnabas.model.limits import OPENED_AT_ONCE_MAX
from barnabas.wire.batch import BatchHeader
from barnabas.wire.record_validation import Stored, prepare
from barnabas.wire.schema_ids import SchemaCheck


class BatchPreparation:
    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._turns = asyncio.Semaphore(OPENED_AT_ONCE_MAX)

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def prepare(
        self, config: PartitionConfig, batch: memoryview, header: BatchHeader, schemas: SchemaCheck | None = None
    ) -> Stored:
        """The batch as it is to be stored; raises KafkaError when the topic refuses it."""
        loop = asyncio.get_running_loop()
        async with self._turns:
            steps = prepare(batch, header, config.rules, wall_ms(), schemas=schemas)
            result: bytes | None = None
            while True:
                try:
                    job = steps.send(result)
                except StopIteration as done:
                    stored: Stored = done.value
                    return stored
                if job is None:
                    result = None
                    await asyncio.sleep(0)
                else:
                    result = await loop.run_in_executor(self._threads, job)
