"""The process that searches: takes batches from standard input, gives what it finds to standard output, both of which
are one socket. It ends when the other side does."""

import os
import socket
import sys

from barnabas.browse.record import Record
from barnabas.browse.search.messages import LENGTH, Chunk, Found, Scanned, Task, framed, to_worker
from barnabas.browse.search.query import finder
from barnabas.browse.search.scanning import Scan

_FOUND_BYTES = 1 << 20  # of records that are sent together


class Worker:
    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._block = bytearray(1 << 20)

    def run(self) -> None:
        task = self._next()
        assert isinstance(task, Task), task
        found = finder(task.query)
        while True:
            chunk = self._next()
            assert isinstance(chunk, Chunk), chunk
            data = self._receive(chunk.size)
            scan = Scan(found, task.topic, chunk.partition, chunk.start, chunk.end)
            matches = self._send_found(scan, data, chunk, task)
            self._link.sendall(framed(Scanned(chunk.partition, scan.records, matches, scan.unreadable)))

    def _send_found(self, scan: Scan, data: memoryview, chunk: Chunk, task: Task) -> int:
        """Sends as many as are wanted; gives how many there are."""
        matches = waiting = 0
        ready: list[Record] = []
        for record in scan.found(data, chunk.aborted, whole=task.whole):
            matches += 1
            if not task.whole:
                if task.keep <= 0 or task.keep_bytes <= 0:
                    continue
                task.keep -= 1
                task.keep_bytes -= record.weight
            ready.append(record)
            waiting += record.weight
            if waiting > _FOUND_BYTES:
                self._link.sendall(framed(Found(ready)))
                ready, waiting = [], 0
        if ready:
            self._link.sendall(framed(Found(ready)))
        return matches

    def _next(self) -> Task | Chunk:
        size = LENGTH.unpack(self._receive(LENGTH.size))[0]
        message: Task | Chunk = to_worker(self._receive(size))
        return message

    def _receive(self, size: int) -> memoryview:
        """Into one block that is used again: what was received before is done with."""
        if size > len(self._block):
            self._block = bytearray(size + (size >> 2))
        view = memoryview(self._block)[:size]
        have = 0
        while have < size:
            count = self._link.recv_into(view[have:])
            if not count:
                raise EOFError
            have += count
        return view


def main() -> None:
    link = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    try:
        Worker(link).run()
    except (EOFError, ConnectionError):
        return  # the search was cancelled, or is done


if __name__ == "__main__":
    main()
