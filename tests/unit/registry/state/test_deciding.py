"""Decisions change nothing; applied, they make what was promised. Random changes keep every invariant, and whoever
reads the log from its beginning knows the same as whoever was there."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from barnabas.registry.errors import RegistryError
from barnabas.registry.state import questions
from barnabas.registry.state.contents import Contents
from barnabas.registry.state.deciding import comparing, deleting, registering, settings
from barnabas.registry.state.deciding.decision import Batch, Decision, Later
from barnabas.registry.state.deciding.registering import SchemaRequest
from barnabas.registry.state.deciding.settings import ConfigRequest, ModeRequest
from barnabas.registry.state.parsing import Parser
from barnabas.registry.state.records import Record
from barnabas.registry.state.values import Reference, Stored

PARSER = Parser()


class Log:
    """The topic, with one reader that is always there."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.contents = Contents()

    def append(self, decision: Decision) -> object:
        for record in decision.records:
            self.contents.apply(len(self.records), record.key, record.value, 1)
            self.records.append(record)
        return decision.answer

    def read(self) -> Contents:
        contents = Contents()
        for offset, record in enumerate(self.records):
            contents.apply(offset, record.key, record.value, 1)
        return contents

    def compacted(self) -> Contents:
        """As a reader that comes after compaction, when tombstones are gone."""
        last = {record.key: offset for offset, record in enumerate(self.records)}
        contents = Contents()
        for offset, record in enumerate(self.records):
            if last[record.key] == offset and record.value is not None:
                contents.apply(offset, record.key, record.value, 1)
        return contents

    def decide(
        self,
        subject: str,
        schema: str,
        batch: Batch | None = None,
        id: int | None = None,
        version: int | None = None,
    ) -> Decision:
        wanted = registering.want(
            self.contents,
            subject,
            SchemaRequest(schema, id=id, version=version),
            normalize=False,
            populate=True,
            compare=True,
            is_new=True,
        )
        checked = registering.check(PARSER, wanted, compare=True)
        return registering.decide(self.contents, wanted, checked, batch or Batch())

    def register(self, subject: str, schema: str) -> Stored:
        answer = self.append(self.decide(subject, schema))
        assert isinstance(answer, Stored)
        return answer


def enum(name: str, *symbols: str) -> str:
    listed = ",".join(f'"{each}"' for each in symbols)
    return f'{{"type":"enum","name":"{name}","symbols":[{listed}]}}'


def test_a_decision_changes_nothing() -> None:
    log = Log()
    assert log.decide("s", '"string"').records
    assert log.contents == Contents()


def test_one_id_for_one_schema() -> None:
    log = Log()
    assert [log.register(each, '"string"').id for each in ("a", "b", ":.c:a")] == [1, 1, 1]
    assert [log.register(each, '"int"').id for each in (":.c:b", "c")] == [2, 2]
    assert log.register("a", '"string"').version == 1


def test_together_only_what_does_not_depend_on_each_other() -> None:
    log = Log()
    batch = Batch()
    first, second = log.decide("a", '"int"', batch), log.decide("b", '"long"', batch)
    with pytest.raises(Later):
        log.decide("a", '"float"', batch)  # the next version of the same subject
    with pytest.raises(Later):
        log.decide("c", '"int"', batch)  # the same schema, whose id nobody knows yet
    stored = [log.append(each) for each in (first, second)]
    assert [(each.id, each.version) for each in stored if isinstance(each, Stored)] == [(1, 1), (2, 1)]


def test_an_id_is_not_given_again_when_compaction_has_removed_every_trace() -> None:
    log = Log()
    log.register("a", '"int"')
    log.register("b", '"long"')
    log.append(deleting.delete_subject(log.contents, "b", permanent=False))
    log.append(deleting.delete_subject(log.contents, "b", permanent=True))
    log.contents = log.compacted()
    assert (questions.subjects(log.contents, ":*:", "all")) == ["a"]
    assert log.register("b", '"float"').id == 3


def test_ids_and_versions_have_32_bits() -> None:
    """A record has four bytes for an id: one beyond could be registered and never be used."""
    log = Log()
    log.append(settings.set_mode(log.contents, "s", ModeRequest("IMPORT"), force=False))
    for id, version in ((2**31, 1), (2**64, 1), (1, 2**31)):
        with pytest.raises(RegistryError, match="is larger than 2147483647"):
            log.decide("s", '"int"', id=id, version=version)
    log.append(log.decide("s", '"int"', id=2**31 - 1, version=2**31 - 1))
    with pytest.raises(RegistryError, match="no id left"):
        log.decide("t", '"long"')
    log.append(settings.set_mode(log.contents, "s", ModeRequest("READWRITE"), force=False))
    log.append(settings.set_config(log.contents, "s", ConfigRequest(compatibility="NONE")))
    with pytest.raises(RegistryError, match="no version left"):
        log.decide("s", '"long"')


def test_an_id_of_the_topic_that_is_too_large_is_passed_over() -> None:
    log = Log()
    key, value = (
        b'{"keytype":"SCHEMA","subject":"s","version":1}',
        b'{"subject":"s","version":1,"id":9999999999,"schema":""}',
    )
    log.contents.apply(0, key, value, 1)
    log.contents.apply(1, b'{"keytype":"MAX_ID","context":"."}', b'{"context":".","id":9999999999}', 1)
    assert log.contents.unreadable == 2
    assert log.register("t", '"long"').id == 1


def test_an_import_does_not_replace_a_version() -> None:
    """What was acknowledged would be gone, and records with its id could not be read any more."""
    log = Log()
    log.append(settings.set_mode(log.contents, "s", ModeRequest("IMPORT"), force=False))
    log.append(log.decide("s", '"int"', id=10, version=1))
    for schema, id in (('"long"', 11), ('"int"', 12)):
        with pytest.raises(RegistryError, match="Overwrite version 1 of subject s is not permitted"):
            log.decide("s", schema, id=id, version=1)
    log.append(log.decide("s", '"int"', id=10, version=1))  # the same import once more
    assert [each.id for each in questions.versions_of(log.contents, "s")] == [10]


def test_a_decision_is_stale_when_what_it_refers_to_was_deleted_meanwhile() -> None:
    """Parsing takes time: a schema that refers to nothing could be acknowledged."""
    log = Log()
    log.register("part", enum("Part", "A"))
    reference = Reference("Part", "part", 1)
    request = SchemaRequest('{"type":"array","items":"Part"}', references=[reference])
    wanted = registering.want(log.contents, "whole", request, normalize=False, populate=True, compare=True, is_new=True)
    assert not registering.is_stale(log.contents, wanted)
    for permanent in (False, True):
        log.append(deleting.delete_subject(log.contents, "part", permanent=permanent))
    assert registering.is_stale(log.contents, wanted)


def test_refusals_have_confluents_codes() -> None:
    log = Log()
    log.register("s", '"string"')
    asked: tuple[tuple[int, Callable[[], Decision]], ...] = (
        (409, lambda: log.decide("s", '"int"')),
        (42201, lambda: log.decide("s", "{")),
        (42205, lambda: log.decide("s", '"long"', id=7)),
        (40401, lambda: deleting.delete_subject(log.contents, "t", permanent=False)),
        (40405, lambda: deleting.delete_subject(log.contents, "s", permanent=True)),
        (42203, lambda: settings.set_config(log.contents, None, ConfigRequest(compatibility="x"))),
        (42204, lambda: settings.set_mode(log.contents, None, ModeRequest("x"), force=False)),
        (42205, lambda: settings.set_mode(log.contents, None, ModeRequest("IMPORT"), force=False)),
    )
    for code, ask in asked:
        with pytest.raises(RegistryError) as refused:
            ask()
        assert refused.value.code == code


@pytest.mark.parametrize("seed", range(30))
def test_random_changes_keep_the_invariants(seed: int) -> None:
    rng = random.Random(seed)
    log = Log()
    given: dict[tuple[str, int], str] = {}
    log.append(settings.set_config(log.contents, None, ConfigRequest(compatibility="NONE")))
    for _ in range(120):
        subject = rng.choice(("a", "b", "c", ":.x:a", ":.x:b"))
        try:
            match rng.randrange(8):
                case 0:
                    log.append(deleting.delete_subject(log.contents, subject, permanent=rng.random() < 0.5))
                case 1 | 2:
                    version = rng.randrange(1, 6)
                    permanent = rng.random() < 0.5
                    log.append(
                        deleting.delete_version(log.contents, subject, version, str(version), permanent=permanent)
                    )
                case 3:
                    mode = ModeRequest(rng.choice(("READWRITE", "READWRITE", "READONLY", "IMPORT")))
                    log.append(settings.set_mode(log.contents, subject, mode, force=False))
                case _:
                    stored = log.register(subject, enum("E", rng.choice("ABCDEFGH")))
                    where = ".x" if subject.startswith(":") else "."
                    assert given.setdefault((where, stored.id), stored.content.text) == stored.content.text
        except RegistryError:
            pass
        check(log.contents)
    assert log.read() == log.contents
    compacted = log.compacted()
    assert compacted.subjects == log.contents.subjects
    for name, context in log.contents.contexts.items():
        assert compacted.contexts.get(name) is None or compacted.contexts[name].max_id == context.max_id


def check(contents: Contents) -> None:
    assert contents.subjects == sorted(each for context in contents.contexts.values() for each in context.subjects)
    count = 0
    for context in contents.contexts.values():
        for subject, versions in context.subjects.items():
            assert versions and list(versions) == sorted(versions)
            count += len(versions)
            for version, stored in versions.items():
                assert (stored.subject, stored.version) == (subject, version)
                assert context.by_id[stored.id][subject, version] is stored
                assert context.ids[stored.hash] == stored.id
                assert stored.id <= context.max_id
        assert sum(len(same) for same in context.by_id.values()) == sum(len(each) for each in context.subjects.values())
    assert contents.versions == count


def test_a_transitive_check_of_very_much_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    log.append(settings.set_config(log.contents, None, ConfigRequest(compatibility="FULL_TRANSITIVE")))
    monkeypatch.setattr(comparing, "REGISTRY_COMPARED_MAX_BYTES", 100)
    for docs in ("a" * 60, "b" * 60):
        log.register("s", f'{{"type":"enum","name":"e","symbols":["x"],"doc":"{docs}"}}')
    with pytest.raises(RegistryError, match=r"2 versions with .* set a level that is not transitive"):
        log.decide("s", enum("e", "x"))
