"""A server on a real socket that answers as it is told, in a thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from barnabas.wire.codec import encode_response
from barnabas.wire.headers import RequestHeader, read_request_header, response_frame

Story = Callable[["Conversation"], None]


class Conversation:
    """One accepted connection."""

    def __init__(self, accepted: socket.socket) -> None:
        self.socket = accepted
        self.asked: list[RequestHeader] = []

    def read(self) -> RequestHeader:
        frame = self._exactly(int.from_bytes(self._exactly(4), "big"))
        self.asked.append(read_request_header(frame))
        return self.asked[-1]

    def answer(self, header: RequestHeader, body: dict[str, object]) -> None:
        self.socket.sendall(frame(header, body))

    def answer_next(self, body: dict[str, object]) -> RequestHeader:
        header = self.read()
        self.answer(header, body)
        return header

    def answer_versions(self, spoken: dict[int, tuple[int, int]]) -> None:
        keys = [{"api_key": key, "min_version": low, "max_version": high} for key, (low, high) in spoken.items()]
        self.answer_next({"error_code": 0, "api_keys": keys})

    def until_closed(self) -> None:
        while self.socket.recv(4096):
            pass

    def _exactly(self, wanted: int) -> bytes:
        data = b""
        while len(data) < wanted:
            part = self.socket.recv(wanted - len(data))
            if not part:
                raise ConnectionError("the client has gone")
            data += part
        return data


def frame(header: RequestHeader, body: dict[str, object]) -> bytes:
    encoded = encode_response(header.api_key, header.api_version, body)
    return response_frame(header.api_key, header.api_version, header.correlation_id, encoded)


@contextmanager
def serving(*stories: Story) -> Iterator[int]:
    """The port of a server that tells one story to each connection, in order."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_serve, args=(listening, stories), daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def _serve(listening: socket.socket, stories: tuple[Story, ...]) -> None:
    for story in stories:
        try:
            accepted, _ = listening.accept()
        except OSError:
            return  # the test is over
        with accepted:
            accepted.settimeout(10)
            try:
                story(Conversation(accepted))
            except OSError:
                continue  # the client has gone, which a test may want
