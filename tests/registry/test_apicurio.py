"""Apicurio beside it: the same requests to both. Each difference is named with the reason, and has to be one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Protocol  # bodies of answers

import pytest

from tests.support.apicurio import ApicurioProcess
from tests.support.registry import RegistryProcess
from tests.support.servers import BarnabasNode
from tests.unit.registry.schemas.protobuf.test_compatibility import COMPATIBLE, REFUSED


def avro(*fields: dict[str, Any]) -> str:  # as Avro has them
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields)})


ID, COUNT = {"name": "id", "type": "string"}, {"name": "count", "type": "int"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
AVRO, AVRO_MORE, AVRO_WRONG = avro(ID), avro(ID, NOTE), avro(ID, COUNT)
JSON = '{"type":"object","properties":{"id":{"type":"string"}},"additionalProperties":false}'
JSON_WRONG = '{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":false}'
PROTO = 'syntax = "proto3";\npackage shop;\n\nmessage Order {\n  string id = 1;\n}\n'
PROTO_WRONG = PROTO.replace("string id", "int32 id")
MONEY = 'syntax = "proto3";\npackage money;\n\nmessage Amount {\n  int64 cents = 1;\n}\n'
BILL = 'syntax = "proto3";\nimport "money.proto";\n\nmessage Bill {\n  money.Amount total = 1;\n}\n'
MONEY_IS = {"references": [{"name": "money.proto", "subject": "money", "version": 1}]}


def sent(schema: str, type: str = "AVRO", **more: object) -> dict[str, object]:
    return {"schema": schema, **({} if type == "AVRO" else {"schemaType": type}), **more}


# What is asked, one after the other.
STEPS: dict[str, tuple[str, str, object]] = {
    "types": ("GET", "/schemas/types", None),
    "no subjects": ("GET", "/subjects", None),
    "unknown subject": ("GET", "/subjects/never/versions", None),
    "unknown version of an unknown subject": ("GET", "/subjects/never/versions/1", None),
    "unknown id": ("GET", "/schemas/ids/99999", None),
    "delete unknown subject": ("DELETE", "/subjects/never", None),
    "register": ("POST", "/subjects/a/versions", sent(AVRO)),
    "register again": ("POST", "/subjects/a/versions", sent(AVRO)),
    "register with other white space": ("POST", "/subjects/a/versions", sent(AVRO.replace(": ", ":  "))),
    "register elsewhere": ("POST", "/subjects/b/versions", sent(AVRO)),
    "versions": ("GET", "/subjects/a/versions", None),
    "version": ("GET", "/subjects/a/versions/1", None),
    "latest": ("GET", "/subjects/a/versions/latest", None),
    "text of a version": ("GET", "/subjects/a/versions/1/schema", None),
    "unknown version": ("GET", "/subjects/a/versions/7", None),
    "version that is none": ("GET", "/subjects/a/versions/abc", None),
    "version zero": ("GET", "/subjects/a/versions/0", None),
    "look up": ("POST", "/subjects/a", sent(AVRO)),
    "look up what is not there": ("POST", "/subjects/a", sent(AVRO_MORE)),
    "look up in an unknown subject": ("POST", "/subjects/never", sent(AVRO)),
    "second version": ("POST", "/subjects/a/versions", sent(AVRO_MORE)),
    "incompatible": ("POST", "/subjects/a/versions", sent(AVRO_WRONG)),
    "no schema": ("POST", "/subjects/a/versions", {}),
    "no Avro": ("POST", "/subjects/a/versions", sent('{"type":"nope"}')),
    "no such type": ("POST", "/subjects/a/versions", sent(AVRO, "XML")),
    "check compatible": ("POST", "/compatibility/subjects/a/versions/latest", sent(AVRO)),
    "check incompatible": ("POST", "/compatibility/subjects/a/versions/latest", sent(AVRO_WRONG)),
    "check against all": ("POST", "/compatibility/subjects/a/versions", sent(AVRO_WRONG)),
    "check unknown version": ("POST", "/compatibility/subjects/a/versions/9", sent(AVRO)),
    "check unknown subject": ("POST", "/compatibility/subjects/never/versions/latest", sent(AVRO)),
    "config": ("GET", "/config", None),
    "config of a subject that has none": ("GET", "/config/a", None),
    "config of a subject or the default": ("GET", "/config/a?defaultToGlobal=true", None),
    "set config of a subject": ("PUT", "/config/a", {"compatibility": "NONE"}),
    "config of a subject": ("GET", "/config/a", None),
    "set config to nonsense": ("PUT", "/config/a", {"compatibility": "NOPE"}),
    "incompatible, with level NONE": ("POST", "/subjects/a/versions", sent(AVRO_WRONG)),
    "delete config of a subject": ("DELETE", "/config/a", None),
    "register JSON": ("POST", "/subjects/j/versions", sent(JSON, "JSON")),
    "JSON that cannot be read": ("POST", "/subjects/j/versions", sent(JSON_WRONG, "JSON")),
    "no JSON": ("POST", "/subjects/j/versions", sent("{", "JSON")),
    "JSON as it is stored": ("GET", "/subjects/j/versions/1", None),
    "register Protobuf": ("POST", "/subjects/p/versions", sent(PROTO, "PROTOBUF")),
    "Protobuf that cannot be read": ("POST", "/subjects/p/versions", sent(PROTO_WRONG, "PROTOBUF")),
    "no Protobuf": ("POST", "/subjects/p/versions", sent("message {", "PROTOBUF")),
    "Protobuf as it is stored": ("GET", "/subjects/p/versions/1", None),
    "another type in the same subject": ("POST", "/subjects/p/versions", sent(AVRO)),
    "a file for others": ("POST", "/subjects/money/versions", sent(MONEY, "PROTOBUF")),
    "a reference": ("POST", "/subjects/bill/versions", sent(BILL, "PROTOBUF", **MONEY_IS)),
    "who refers to it": ("GET", "/subjects/money/versions/1/referencedby", None),
    "delete what is referred to": ("DELETE", "/subjects/money/versions/1", None),
    "subjects": ("GET", "/subjects", None),
    "subjects with a prefix": ("GET", "/subjects?subjectPrefix=bi", None),
    "mode": ("GET", "/mode", None),
    "delete for good what is in use": ("DELETE", "/subjects/b?permanent=true", None),
    "delete a version": ("DELETE", "/subjects/a/versions/1", None),
    "delete a version twice": ("DELETE", "/subjects/a/versions/1", None),
    "versions after that": ("GET", "/subjects/a/versions", None),
    "versions with deleted ones": ("GET", "/subjects/a/versions?deleted=true", None),
    "delete a subject": ("DELETE", "/subjects/b", None),
    "delete a subject twice": ("DELETE", "/subjects/b", None),
    "subjects after that": ("GET", "/subjects", None),
    "subjects with deleted ones": ("GET", "/subjects?deleted=true", None),
    "delete a subject for good": ("DELETE", "/subjects/b?permanent=true", None),
    "register after that": ("POST", "/subjects/b/versions", sent(AVRO)),
    "version after that": ("GET", "/subjects/b/versions", None),
    "a reference that is missing": ("POST", "/subjects/bill2/versions", sent(BILL, "PROTOBUF")),
}  # fmt: skip


# What Apicurio answers otherwise: why, and its answer.
DIFFERENT: dict[str, tuple[str, tuple[int, Any]]] = {
    "version that is none": ("Confluent's code for it is 42202", (404, {"error_code": 40402})),
    "version zero": ("Confluent's code for it is 42202", (404, {"error_code": 40402})),
    "no schema": ("without one Confluent's takes that of the version before", (500, {"error_code": 0})),
    "no such type": ("Apicurio takes XML for the Avro schema that it has", (200, {"id": 1})),
    "config of a subject that has none": ("Confluent's code for it is 40408", (200, {"compatibilityLevel": "NONE"})),
    "set config of a subject": ("normalize was not sent", (200, {"compatibility": "NONE", "normalize": False})),
    "another type in the same subject": ("Confluent's calls it incompatible", (422, {"error_code": 42201})),
    "subjects with a prefix": ("Apicurio does not know subjectPrefix", (200, ["a", "b", "bill", "j", "money", "p"])),
    "delete for good what is in use": ("Confluent's status of 40405 is 404", (409, {"error_code": 40405})),
    "delete a version twice": ("Confluent's status of 40406 is 404", (409, {"error_code": 40406})),
    "a reference that is missing": ("Apicurio registers it all the same", (200, {"id": 8})),
}  # fmt: skip


class Registry(Protocol):
    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]: ...  # a body of any shape


def simple(path: str, status: int, body: Any, ids: dict[int, int]) -> tuple[int, Any]:
    """Ids by the order in which they came; errors by their code; schemas without white space. What only the current
    registry of Confluent's says is left out: GUIDs, times, AVRO as a type, and all but the id after a registration."""
    if isinstance(body, dict) and "error_code" in body:
        return status, {"error_code": body["error_code"]}
    if path.endswith("/versions") and isinstance(body, dict) and "id" in body:
        body = {"id": body["id"]}
    return status, _simple(body, ids, "id" if path.endswith("/referencedby") else "")


def _simple(value: Any, ids: dict[int, int], name: str = "") -> Any:
    if isinstance(value, dict):
        hidden = ("guid", "ts", "deleted", "messages")
        kept = {key: each for key, each in value.items() if key not in hidden and (key, each) != ("schemaType", "AVRO")}
        return {key: _simple(each, ids, key) for key, each in kept.items()}
    if isinstance(value, list):
        return sorted((_simple(each, ids, name) for each in value), key=str)
    if name == "id":
        return ids.setdefault(value, len(ids) + 1)
    return "".join(value.split()) if name == "schema" else value


@pytest.fixture(scope="module")
def apicurio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApicurioProcess]:
    running = ApicurioProcess(tmp_path_factory.mktemp("apicurio"))
    try:
        running.start(timeout_seconds=150)
        assert running.ask("PUT", "/config", {"compatibility": "BACKWARD"})[0] == 200
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    """A registry that nobody else has used: the list of all subjects is asked for."""
    folder = tmp_path_factory.mktemp("fresh")
    node = BarnabasNode(folder)
    serving: RegistryProcess | None = None
    try:
        node.start()
        serving = RegistryProcess(folder / "registry", node.bootstrap)
        serving.start()
        yield serving
    finally:
        if serving is not None:
            serving.stop()
        node.stop()


def test_both_answer_alike_or_the_difference_is_known(fresh: RegistryProcess, apicurio: ApicurioProcess) -> None:
    our_ids: dict[int, int] = {}
    their_ids: dict[int, int] = {}
    unknown = {}
    for name, (method, path, body) in STEPS.items():
        ours = simple(path, *fresh.ask(method, path, body), our_ids)
        theirs = simple(path, *apicurio.ask(method, path, body), their_ids)
        expected = DIFFERENT[name][1] if name in DIFFERENT else ours
        if theirs != expected or (name in DIFFERENT and ours == theirs):
            unknown[name] = {"ours": ours, "theirs": theirs}
    assert unknown == {}


def described(**words: object) -> str:
    """Apicurio knows a JSON Schema by its $schema."""
    return json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", **words})


def number(**limits: int) -> str:
    return described(type="object", properties={"n": {"type": "integer", **limits}}, additionalProperties=False)


# Some of the pairs of the unit tests: Apicurio takes a second for each.
FINE = (
    "a field more",
    "a field less",
    "another name",
    "numbers of one group",
    "the package",
    "one field into a new oneof",
)
BROKEN = (
    "a scalar of another group", "a scalar as a message", "a message less", "a required field more",
    "two fields into a oneof",
    "a field of a oneof less", "a number that no longer repeats", "two oneofs into one", "deep within",
)  # fmt: skip

# Of each pair, whether data of the first can be read with the second.
PAIRS: dict[str, tuple[str, str, str]] = {
    "AVRO a field with a default": ("AVRO", avro(ID), avro(ID, NOTE)),
    "AVRO a field without a default": ("AVRO", avro(ID), avro(ID, COUNT)),
    "AVRO a field less": ("AVRO", avro(ID, COUNT), avro(ID)),
    "AVRO promotion": ("AVRO", '"int"', '"double"'),
    "AVRO narrowing": ("AVRO", '"long"', '"int"'),
    "AVRO string as bytes": ("AVRO", '"string"', '"bytes"'),
    "AVRO a union more": ("AVRO", '["null","int"]', '["null","int","string"]'),
    "AVRO a union less": ("AVRO", '["null","int","string"]', '["null","int"]'),
    "AVRO a symbol less": ("AVRO",
        '{"type":"enum","name":"E","symbols":["A","B"]}', '{"type":"enum","name":"E","symbols":["A"]}'),
    "AVRO another size": ("AVRO", '{"type":"fixed","name":"F","size":4}', '{"type":"fixed","name":"F","size":8}'),
    "AVRO values of a map": ("AVRO", '{"type":"map","values":"int"}', '{"type":"map","values":"string"}'),
    "JSON a wider limit": ("JSON", number(maximum=5), number(maximum=9)),
    "JSON a narrower limit": ("JSON", number(maximum=9), number(maximum=5)),
    "JSON another type": ("JSON", described(type="string"), described(type="number")),
    "JSON integer as number": ("JSON", described(type="integer"), described(type="number")),
    "JSON number as integer": ("JSON", described(type="number"), described(type="integer")),
    "JSON an enum more": ("JSON", described(type="string", enum=["a"]), described(type="string", enum=["a", "b"])),
    "JSON an enum less": ("JSON", described(type="string", enum=["a", "b"]), described(type="string", enum=["a"])),
    "JSON required": ("JSON", described(type="object"), described(type="object", required=["a"])),
    "JSON no longer required": ("JSON", described(type="object", required=["a"]), described(type="object")),
    **{f"PROTOBUF {name}": ("PROTOBUF", *COMPATIBLE[name]) for name in FINE},
    **{f"PROTOBUF {name}": ("PROTOBUF", *REFUSED[name][:2]) for name in BROKEN},
}  # fmt: skip
# Apicurio compares Protobuf files by rules of its own; Confluent's rules are about the bytes.
VERDICTS_DIFFERENT = {
    "PROTOBUF a field less": "Apicurio wants the number reserved; Confluent's lets a field go",
    "PROTOBUF another name": "names of fields are not in the bytes; Apicurio wants them to stay",
    "PROTOBUF numbers of one group": "int32 and uint64 have the same bytes; Apicurio wants the same type",
    "PROTOBUF the package": "Apicurio refuses it; Confluent's compares names without the package",
    "PROTOBUF a message less": "Apicurio does not miss a message that no field uses",
    "PROTOBUF two fields into a oneof": "Apicurio does not refuse it; data is lost (test_compatibility.py)",
    "PROTOBUF two oneofs into one": "as above",
}


def verdict(registry: Registry, name: str) -> Any:
    """By registering: Apicurio's answer to a check of a Protobuf schema did not come within half a minute."""
    type, writer, reader = PAIRS[name]
    subject = "pair-" + "".join(letter if letter.isalnum() else "-" for letter in name)
    status, answer = registry.ask("POST", f"/subjects/{subject}/versions", sent(writer, type))
    assert status == 200, answer
    status, answer = registry.ask("POST", f"/subjects/{subject}/versions", sent(reader, type))
    return {200: True, 409: False}.get(status, answer)


def test_both_judge_alike_or_the_difference_is_known(registry: RegistryProcess, apicurio: ApicurioProcess) -> None:
    unknown = {}
    for name in PAIRS:
        ours, theirs = verdict(registry, name), verdict(apicurio, name)
        if (ours == theirs) == (name in VERDICTS_DIFFERENT):
            unknown[name] = {"ours": ours, "theirs": theirs}
    assert unknown == {}
