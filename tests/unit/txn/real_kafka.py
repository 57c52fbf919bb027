"""A real broker for the scenario language: sends each command over a socket, waits where the shard would be told.

Transactional ids get a prefix of their own in every run, so a broker that has served a run before can serve the next.
"""

import secrets
import socket
import struct
import time
from typing import Any

from barnabas.wire import codec
from tests.unit.txn.scenarios import commands
from tests.unit.txn.script import Script

_FIRST_FLEXIBLE = {19: 5, 22: 2, 24: 3, 25: 3, 26: 3, 65: 0, 66: 0, 10: 3}
_PREPARED = ("PrepareCommit", "PrepareAbort")


class RealKafka:
    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._prefix = secrets.token_hex(4) + "-"
        self._seen: set[str] = set()

    def ask(self, api_key: int, version: int, body: dict[str, Any]) -> Any:
        answer = self._send(api_key, version, _renamed(body, self._prefix, self._seen))
        if api_key == 65:
            answer.transaction_states[0].transactional_id = ""
        if api_key == 66:
            answer.transaction_states = [
                item for item in answer.transaction_states if item.transactional_id.startswith(self._prefix)
            ]
            for item in answer.transaction_states:
                item.transactional_id = item.transactional_id.removeprefix(self._prefix)
        return answer

    def prepare(self, topics: list[str]) -> None:
        """Topics to write to, and coordinators that are awake."""
        body = [{"name": name, "num_partitions": 3, "replication_factor": 1} for name in topics]
        self._send(19, 5, {"topics": body, "timeout_ms": 10_000})
        for _ in range(100):
            found = [self._send(10, 2, {"key": "x", "key_type": kind}).error_code for kind in (0, 1)]
            probe = self._send(
                22, 5, {"transactional_id": f"probe-{secrets.token_hex(4)}", "transaction_timeout_ms": 1000}
            )
            if not any(found) and probe.error_code == 0:
                return
            time.sleep(0.1)
        raise TimeoutError("no coordinator")

    def settle(self) -> None:
        for name in self._seen:
            while True:
                (state,) = self._send(65, 0, {"transactional_ids": [name]}).transaction_states
                if state.transaction_state not in _PREPARED:
                    break
                time.sleep(0.02)
        time.sleep(0.05)

    def _send(self, api_key: int, version: int, body: dict[str, Any]) -> Any:
        flexible = version >= _FIRST_FLEXIBLE[api_key]
        header = struct.pack(">hhih", api_key, version, 1, -1) + (b"\0" if flexible else b"")
        frame = header + codec.encode_request(api_key, version, body)
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        size = struct.unpack(">i", self._exactly(4))[0]
        data = self._exactly(size)
        return codec.decode_response(api_key, version, data, 5 if flexible else 4)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise ConnectionError("the broker hung up")
            data += more
        return data


def recorded(text: str, address: str) -> str:
    broker = RealKafka(address)
    broker.prepare(["t", "u"])
    script = Script(broker)
    lines: list[str] = []
    for line in commands(text):
        lines.append(line)
        word, *arguments = line.split() or ["#"]
        if word == "settle":
            broker.settle()
        elif word == "wait":
            time.sleep(int(arguments[0]) / 1000)
        elif word == "epoch":
            while not script.ask(f"init {arguments[0]}")[0].endswith(f"/{arguments[1]}"):
                pass
        elif word not in ("#", "trace", "config") and not word.startswith("#"):
            lines += [f"    {outcome}" for outcome in script.ask(line)]
    return "\n".join(lines).rstrip() + "\n"


def _renamed(body: dict[str, Any], prefix: str, seen: set[str]) -> dict[str, Any]:
    def renamed(name: str | None) -> str | None:
        if not name:
            return name
        seen.add(prefix + name)
        return prefix + name

    changed = dict(body)
    for key in ("transactional_id", "v3_and_below_transactional_id"):
        if key in changed:
            changed[key] = renamed(changed[key])
    if "transactional_ids" in changed:
        changed["transactional_ids"] = [renamed(name) for name in changed["transactional_ids"]]
    if changed.get("transactional_id_pattern"):
        changed["transactional_id_pattern"] = f"{prefix}(?:{changed['transactional_id_pattern']})"
    if "transactions" in changed:
        changed["transactions"] = [_renamed(item, prefix, seen) for item in changed["transactions"]]
    return changed
