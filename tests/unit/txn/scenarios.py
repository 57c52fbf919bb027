"""Runs a scenario file against a shard: the same text again, with what happened now below each command.

A file opens with its story in comments, and `config name=value` lines. `trace off` leaves only answers in the text:
such a file can be run against any broker.
"""

from dataclasses import replace
from typing import Any

from barnabas.core.txn import SendMarkers, TxnConfig
from barnabas.core.txn.records import decode_key, decode_value
from barnabas.model.ids import TopicPartition
from tests.unit.txn.script import Names, Script
from tests.unit.txn.stage import Record, Stage

_DRIVER = {"settle", "fail", "wait", "reload", "compact", "config", "trace", "ids", "epoch"}


def commands(text: str) -> list[str]:
    """The lines a scenario is made of, without what came of them."""
    return [line for line in text.splitlines() if not line.startswith("    ")]


def replayed(text: str) -> str:
    runner = _Runner()
    lines: list[str] = []
    for line in commands(text):
        lines.append(line)
        if line and not line.startswith("#"):
            lines += [f"    {outcome}" for outcome in runner.run(line)]
    return "\n".join(lines).rstrip() + "\n"


class _Runner:
    def __init__(self) -> None:
        self.stage = Stage()
        self.script = Script(self.stage)
        self.traced = True

    def run(self, line: str) -> list[str]:
        word, *arguments = line.split()
        answer: list[str] = []
        if word in _DRIVER:
            self._drive(word, arguments)
        else:
            answer = self.script.ask(line)
        names, stage = self.script.names, self.stage
        trace = [f"record {described(record, names)}" for record in stage.new_records]
        trace += [f"markers {marked(sent, names)}" for sent in stage.new_markers]
        stage.new_records, stage.new_markers = [], []
        return answer + trace if self.traced else answer

    def _drive(self, word: str, arguments: list[str]) -> None:
        stage = self.stage
        match word:
            case "settle":
                only = {_partition(name) for name in arguments} if arguments else None
                stage.write_markers(only=only)
            case "fail":
                stage.fail_markers()
            case "wait":
                stage.advance(int(arguments[0]))
            case "reload" | "compact":
                stage.reload(compact=word == "compact")
            case "epoch":
                stage.set_epoch(arguments[0], int(arguments[1]))
            case "ids":
                stage.ids_left = int(arguments[0])
            case "trace":
                self.traced = arguments == ["on"]
            case "config":
                changes: dict[str, Any] = dict(argument.split("=", 1) for argument in arguments)
                values: dict[str, Any] = {name.replace(".", "_"): int(value) for name, value in changes.items()}
                stage.config = replace(TxnConfig(), **values)
                stage.shard.update_config(stage.config)


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def described(record: Record, names: Names) -> str:
    name = decode_key(record[0])
    if record[1] is None:
        return f"{name} tombstone"
    transaction = decode_value(name, record[1])
    words = [name, transaction.state.title, names.text(transaction.producer_id, transaction.producer_epoch)]
    if transaction.is_kept:
        words.append(f"client={names.text(*transaction.client_producer)}")
    elif transaction.next_producer_id >= 0:
        words.append(f"next={names.text(transaction.next_producer_id)}")
    return " ".join([*words, *sorted(map(str, transaction.partitions))])


def marked(sent: SendMarkers, names: Names) -> str:
    outcome = "commit" if sent.commit else "abort"
    producer = names.text(sent.producer_id, sent.producer_epoch)
    words = [sent.transactional_id, outcome, producer, f"coordinator={sent.coordinator_epoch}"]
    return " ".join([*words, *sorted(map(str, sent.partitions))])
