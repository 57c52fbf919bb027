"""A read that would touch the disk must not stop the loop.

Before a slice goes to sendfile, a byte of every so many is asked of the page cache with RWF_NOWAIT, which says "not
here" instead of waiting. If one is missing, or the bytes have not been checked since the process started, a thread
reads the slice through once: that brings it into the cache and verifies its CRCs, and a slice is cut before a damaged
batch.
"""

import asyncio
from collections.abc import Iterable
from concurrent.futures import Executor

from barnabas.broker.fetch.reader import PartitionRead
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.damage import Damaged
from barnabas.storage.slice import Slice


def not_ready(piece: Slice) -> bool:
    """Would sending this slice wait for the disk, or is it unverified?"""
    return not piece.verified or not piece.disk.is_cached(piece.fd, piece.position, piece.length)


async def make_ready(threads: Executor, reads: Iterable[PartitionRead]) -> None:
    loop = asyncio.get_running_loop()
    for read in reads:
        if not read.is_cold and (read.slice is None or not not_ready(read.slice)):
            continue
        assert read.opened is not None
        log, partition = read.opened.log, read.opened.partition
        try:
            await loop.run_in_executor(threads, read.read_cold)
            piece = read.slice
            if piece is None:
                continue
            if piece.verified:
                await loop.run_in_executor(threads, piece.disk.warm, piece.fd, piece.position, piece.length)
            else:
                read.slice = await loop.run_in_executor(threads, log.verify_slice, piece)
        except Damaged as damaged:
            partition.found_damaged(damaged)
            read.slice, read.error_code = None, int(ErrorCode.CORRUPT_MESSAGE)
        except KafkaError as error:
            read.slice, read.error_code = None, int(error.code)
        except OSError:
            read.slice, read.error_code = None, int(ErrorCode.KAFKA_STORAGE_ERROR)
        if read.slice is not None and not read.slice.length:
            read.slice = None
