"""The language of the scenario files: a command on its own line, what came of it indented below.

    init a                              a P1/0                  InitProducerId of transactional id `a`
    add a P1/0 t-0 t-1                  ok                      the partition's leader adds (v5); v=3: the client does
    offsets a P1/0 group                ok                      AddOffsetsToTxn
    end a P1/0 commit                   ok P1/1                 EndTxn (v5); v=1: the old generation
    describe a / list states=Ongoing    what operators see
    settle / fail                       the markers asked for are written / could not be written
    wait 500 / reload / compact         time passes; the coordinator is rebuilt from its log, or its compacted log
    epoch a 32766                       `init a`, again and again until it has this epoch

Producer ids are named P1, P2, ... as they appear, so a trace of ours can be compared with one of another broker.
"""

import re
from typing import Any, Protocol

from barnabas.model.errors import ErrorCode


class Broker(Protocol):
    def ask(self, api_key: int, version: int, body: dict[str, Any]) -> Any: ...


class Names:
    """Producer ids in the order they were met."""

    def __init__(self) -> None:
        self._ids: list[int] = []

    def text(self, producer_id: int, epoch: int | None = None) -> str:
        if producer_id < 0:
            return "none"
        if producer_id not in self._ids:
            self._ids.append(producer_id)
        name = f"P{self._ids.index(producer_id) + 1}"
        return name if epoch is None else f"{name}/{epoch}"

    def producer(self, text: str) -> tuple[int, int]:
        if text == "none":
            return -1, -1
        match = re.fullmatch(r"P(\d+)/(-?\d+)", text)
        if match is None:
            raise ValueError(f"{text!r} is no producer")
        number = int(match[1])
        return self._ids[number - 1] if number <= len(self._ids) else 10**9 + number, int(match[2])


class Script:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.names = Names()

    def ask(self, line: str) -> list[str]:
        """Send the request a command stands for; the answer in words."""
        words = line.split()
        options = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        flags = [word for word in words[1:] if "=" not in word]
        result: list[str] = getattr(self, f"_{words[0]}")(flags, options)
        return result

    def _init(self, words: list[str], options: dict[str, str]) -> list[str]:
        two_phase = {"2pc", "keep"} & set(words)
        version = int(options.get("v", 6 if two_phase else 5))
        body: dict[str, Any] = {
            "transactional_id": words[0] if words else "",
            "transaction_timeout_ms": int(options.get("timeout", 60_000)),
        }
        if "expect" in options:
            body["producer_id"], body["producer_epoch"] = self.names.producer(options["expect"])
        if version >= 6:
            body |= {"enable2_pc": "2pc" in words, "keep_prepared_txn": "keep" in words}
        answer = self.broker.ask(22, version, body)
        if answer.error_code:
            return [ErrorCode(answer.error_code).name]
        text = self.names.text(answer.producer_id, answer.producer_epoch)
        if version >= 6:
            ongoing = self.names.text(answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch)
            text += f" ongoing {ongoing}"
        return [text]

    def _add(self, words: list[str], options: dict[str, str]) -> list[str]:
        version = int(options.get("v", 5))
        producer_id, epoch = self.names.producer(words[1])
        topics = _topics(word for word in words[2:] if word != "verify")
        if version <= 3:
            body: dict[str, Any] = {
                "v3_and_below_transactional_id": words[0],
                "v3_and_below_producer_id": producer_id,
                "v3_and_below_producer_epoch": epoch,
                "v3_and_below_topics": topics,
            }
            results = self.broker.ask(24, version, body).results_by_topic_v3_and_below
        else:
            item = {
                "transactional_id": words[0],
                "producer_id": producer_id,
                "producer_epoch": epoch,
                "verify_only": "verify" in words,
                "topics": topics,
            }
            answer = self.broker.ask(24, version, {"transactions": [item]})
            results = answer.results_by_transaction[0].topic_results
        codes = {
            f"{topic.name}-{part.partition_index}": _code(part.partition_error_code)
            for topic in results
            for part in topic.results_by_partition
        }
        if len(set(codes.values())) == 1:
            return [next(iter(codes.values()))]
        return [" ".join(f"{name}={code}" for name, code in sorted(codes.items()))]

    def _offsets(self, words: list[str], options: dict[str, str]) -> list[str]:
        producer_id, epoch = self.names.producer(words[1])
        body = {"transactional_id": words[0], "producer_id": producer_id, "producer_epoch": epoch, "group_id": words[2]}
        return [_code(self.broker.ask(25, int(options.get("v", 4)), body).error_code)]

    def _end(self, words: list[str], options: dict[str, str]) -> list[str]:
        version = int(options.get("v", 5))
        producer_id, epoch = self.names.producer(words[1])
        body = {
            "transactional_id": words[0],
            "producer_id": producer_id,
            "producer_epoch": epoch,
            "committed": words[2] == "commit",
        }
        answer = self.broker.ask(26, version, body)
        if answer.error_code or version < 5:
            return [_code(answer.error_code)]
        return [f"ok {self.names.text(answer.producer_id, answer.producer_epoch)}"]

    def _describe(self, words: list[str], options: dict[str, str]) -> list[str]:
        (found,) = self.broker.ask(65, 0, {"transactional_ids": words or [""]}).transaction_states
        if found.error_code:
            return [_code(found.error_code)]
        partitions = sorted(f"{topic.topic}-{number}" for topic in found.topics for number in topic.partitions)
        started = "not started" if found.transaction_start_time_ms < 0 else "started"
        producer = self.names.text(found.producer_id, found.producer_epoch)
        timeout = found.transaction_timeout_ms
        return [" ".join([found.transaction_state, producer, f"timeout={timeout}", started, *partitions])]

    def _list(self, words: list[str], options: dict[str, str]) -> list[str]:
        body: dict[str, Any] = {"state_filters": [], "producer_id_filters": []}
        if "states" in options:
            body["state_filters"] = options["states"].split(",")
        if "producer" in options:
            body["producer_id_filters"] = [self.names.producer(f"{options['producer']}/0")[0]]
        version = int(options.get("v", 2))
        if version >= 1:
            body["duration_filter"] = int(options.get("longer", -1))
        if version >= 2:
            body["transactional_id_pattern"] = options.get("pattern")
        answer = self.broker.ask(66, version, body)
        if answer.error_code:
            return [_code(answer.error_code)]
        lines = [
            f"{item.transactional_id} {item.transaction_state} {self.names.text(item.producer_id)}"
            for item in sorted(answer.transaction_states, key=lambda item: str(item.transactional_id))
        ]
        return lines + [f"unknown state {title}" for title in answer.unknown_state_filters]


def _code(code: int) -> str:
    return "ok" if code == 0 else ErrorCode(code).name


def _topics(names: Any) -> list[dict[str, Any]]:
    topics: dict[str, list[int]] = {}
    for name in names:
        topic, _, number = name.rpartition("-")
        topics.setdefault(topic, []).append(int(number))
    return [{"name": topic, "partitions": numbers} for topic, numbers in topics.items()]
