"""The REST API without a client: paths, parameters, codes and texts, as Confluent's registry answers them."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.registry import RegistryProcess, register

USER = '{"type":"record","name":"User","fields":[{"name":"name","type":"string"}]}'
USER_AGE = (
    '{"type":"record","name":"User","fields":[{"name":"name","type":"string"},{"name":"age","type":"int","default":0}]}'
)
USER_INT = '{"type":"record","name":"User","fields":[{"name":"name","type":"int"}]}'
STRING, INT, LONG = '"string"', '"int"', '"long"'


class Api:
    def __init__(self, registry: RegistryProcess) -> None:
        self.registry = registry

    def get(self, path: str, **more: str) -> tuple[int, Any]:
        return self.registry.ask("GET", path, **more)

    def post(self, path: str, body: object = None, **more: str) -> tuple[int, Any]:
        return self.registry.ask("POST", path, body, **more)

    def put(self, path: str, body: object = None) -> tuple[int, Any]:
        return self.registry.ask("PUT", path, body)

    def delete(self, path: str) -> tuple[int, Any]:
        return self.registry.ask("DELETE", path)

    def register(self, subject: str, schema: str | None, **more: object) -> tuple[int, Any]:
        body = more if schema is None else {"schema": schema, **more}
        return self.post(f"/subjects/{quote(subject, safe='')}/versions", body)

    def id(self, subject: str, schema: str, **more: object) -> int:
        status, answer = self.register(subject, schema, **more)
        assert status == 200, answer
        return int(answer["id"])

    def code(self, method: str, path: str, body: object = None) -> tuple[int, int]:
        status, answer = self.registry.ask(method, path, body)
        return status, answer["error_code"]


@pytest.fixture
def api(registry: RegistryProcess) -> Api:
    return Api(registry)


def test_root_and_metadata(api: Api) -> None:
    assert api.get("/") == (200, {})
    assert api.get("/v1/metadata/id")[1]["scope"]["clusters"]["kafka-cluster"]
    assert set(api.get("/v1/metadata/version")[1]) == {"version", "commitId"}
    assert sorted(api.get("/schemas/types")[1]) == ["AVRO", "JSON", "PROTOBUF"]
    assert api.get("/nope") == (404, {"error_code": 404, "message": "HTTP 404 Not Found"})
    assert api.code("PUT", "/subjects") == (405, 405)
    assert api.post("/subjects/x/versions", {}, Content_Type="text/plain")[0] == 415
    assert api.get("/subjects", Accept="text/html")[0] == 406
    assert api.get("/subjects", Accept="application/json")[0] == 200


def test_versions_by_number_and_name(api: Api) -> None:
    api.id("rest-versions", USER)
    api.id("rest-versions", USER_AGE)
    for name in ("latest", "LATEST", "-1", "2"):
        assert api.get(f"/subjects/rest-versions/versions/{name}")[1]["version"] == 2
    assert api.get("/subjects/rest-versions/versions/1/schema")[1] == json.loads(USER)
    assert api.get("/subjects/rest-versions/versions/3") == (
        404,
        {"error_code": 40402, "message": "Version 3 not found."},
    )
    for wrong in ("0", "-2", "abc", "1.0", "2147483648", "%20"):
        assert api.code("GET", f"/subjects/rest-versions/versions/{wrong}") == (422, 42202)
    assert api.code("GET", "/subjects/rest-never/versions/1") == (404, 40401)
    assert api.code("GET", "/subjects/rest-never/versions") == (404, 40401)
    assert api.code("GET", "/schemas/ids/999999") == (404, 40403)
    assert api.code("GET", "/schemas/ids/abc") == (404, 404)


def test_bodies_that_cannot_be_used(api: Api) -> None:
    path = "/subjects/rest-bodies/versions"
    for body, expected in (
        (b"", (422, 422)),
        (b"null", (422, 422)),
        (b"{", (400, 400)),
        (b"[]", (400, 400)),
        (b'"x"', (400, 400)),
        (b'{"schema": 5}', (400, 400)),
        (b"{}", (422, 42201)),
        (b'{"schema": ""}', (422, 42201)),
        (b'{"schema": "{"}', (422, 42201)),
        (b'{"schema": "\\"int\\"", "schemaType": "XML"}', (422, 42201)),
        (b'{"schema": "\\"int\\"", "references": [{"name":"a","subject":"rest-no","version":1}]}', (422, 42201)),
        (b"\xff\xfe", (400, 400)),
        (b"[" * 100_000, (400, 400)),
    ):
        assert api.code("POST", path, body) == expected, body[:50]
    assert api.register("rest-bodies", INT, unknownField={"a": [1]})[0] == 200
    assert api.code("POST", "/subjects/rest%09tab/versions", {"schema": INT}) == (422, 42208)
    assert api.code("POST", "/subjects/__GLOBAL/versions", {"schema": INT}) == (422, 42208)


def test_levels_of_everything_and_of_a_subject(api: Api) -> None:
    assert api.get("/config") == (200, {"compatibilityLevel": "BACKWARD"})
    assert api.put("/config", {"compatibility": "nope"})[1]["error_code"] == 42203
    assert api.code("GET", "/config/rest-level") == (404, 40408)
    assert api.get("/config/rest-level?defaultToGlobal=true")[1] == {"compatibilityLevel": "BACKWARD"}
    assert api.put("/config/rest-level", {"compatibility": "full", "other": 1})[1] == {"compatibility": "FULL"}
    assert api.put("/config/rest-level", {"normalize": True})[0] == 200
    assert api.get("/config/rest-level")[1] == {"compatibilityLevel": "FULL", "normalize": True}
    assert api.put("/config/rest-level", {"compatibility": None})[0] == 200
    assert api.get("/config/rest-level")[1] == {"compatibilityLevel": "BACKWARD", "normalize": True}
    assert api.delete("/config/rest-level")[1] == {"compatibilityLevel": "BACKWARD", "normalize": True}
    assert api.code("DELETE", "/config/rest-level") == (404, 40401)


@pytest.mark.parametrize(
    ("level", "taken"),
    [
        ("NONE", True),
        ("BACKWARD", True),
        ("BACKWARD_TRANSITIVE", False),
        ("FORWARD", True),
        ("FORWARD_TRANSITIVE", False),
        ("FULL", True),
        ("FULL_TRANSITIVE", False),
    ],
)
def test_how_many_versions_a_level_compares(api: Api, level: str, taken: bool) -> None:
    subject = f"rest-level-{level.lower()}"
    api.put(f"/config/{subject}", {"compatibility": "NONE"})
    for schema in (STRING, INT, USER):
        api.id(subject, schema)
    api.put(f"/config/{subject}", {"compatibility": level})
    both = USER.replace('"User"', '"User","doc":"a user"')
    path = f"/compatibility/subjects/{subject}/versions"
    assert api.post(f"{path}?verbose=true", {"schema": both})[1]["is_compatible"] is taken
    assert api.post(f"{path}/1", {"schema": both})[1]["is_compatible"] is (level == "NONE")
    assert api.post(f"{path}/latest", {"schema": both})[1] == {"is_compatible": True}
    assert api.register(subject, both)[0] == (200 if taken else 409)


def test_incompatibility_is_told_in_words(api: Api) -> None:
    api.id("rest-words", USER)
    path = "/compatibility/subjects/rest-words/versions"
    messages = api.post(f"{path}?verbose=true", {"schema": USER_INT})[1]["messages"]
    assert "TYPE_MISMATCH" in messages[0] and "/fields/0/type" in messages[0]
    assert messages[1:] == [
        "{oldSchemaVersion: 1}",
        f"{{oldSchema: '{USER}'}}",
        "{validateFields: 'false', compatibility: 'BACKWARD'}",
    ]
    status, answer = api.register("rest-words", USER_INT)
    assert (status, answer["error_code"]) == (409, 409)
    assert answer["message"].startswith(
        'Schema being registered is incompatible with an earlier schema for subject "rest-words", details: [{errorType:'
    )
    assert api.post("/compatibility/subjects/rest-nothing/versions", {"schema": INT})[1] == {"is_compatible": True}
    assert api.post("/compatibility/subjects/rest-nothing/versions/latest", {"schema": INT})[1]["is_compatible"]
    assert api.code("POST", "/compatibility/subjects/rest-nothing/versions/1", {"schema": INT}) == (404, 40402)


def test_deletes_in_every_order(api: Api) -> None:
    subject = "rest-deletes"
    api.put(f"/config/{subject}", {"compatibility": "NONE"})
    for schema in (STRING, INT, LONG, USER):
        api.id(subject, schema)
    path = f"/subjects/{subject}/versions"
    assert api.code("DELETE", f"{path}/1?permanent=true") == (404, 40407)
    assert api.delete(f"{path}/2") == (200, 2)
    assert api.code("DELETE", f"{path}/2") == (404, 40406)
    assert api.delete(f"{path}/2?permanent=true") == (200, 2)
    assert api.code("DELETE", f"{path}/2") == (404, 40402)
    assert api.delete(f"{path}/latest") == (200, 4)
    assert api.get(path)[1] == [1, 3]
    assert api.get(f"{path}?deleted=true")[1] == [1, 3, 4]
    assert api.get(f"{path}?deletedOnly=true")[1] == [4]
    assert api.code("GET", f"{path}/4") == (404, 40402)
    assert api.get(f"{path}/4?deleted=true")[1]["deleted"] is True
    assert api.code("DELETE", f"/subjects/{subject}?permanent=true") == (404, 40405)
    assert api.delete(f"/subjects/{subject}") == (200, [1, 3])
    assert api.code("DELETE", f"/subjects/{subject}") == (404, 40404)
    assert api.get(f"/subjects?subjectPrefix={subject}") == (200, [])
    assert api.get(f"/subjects?subjectPrefix={subject}&deletedOnly=true") == (200, [subject])
    assert api.register(subject, STRING)[0] == 200  # what is deleted is not compared
    assert api.get(f"{path}?deleted=true")[1] == [3, 4, 5]  # the deleted version with the same id went
    assert api.delete(f"/subjects/{subject}") == (200, [5])
    assert api.delete(f"/subjects/{subject}?permanent=true") == (200, [3, 4, 5])
    assert api.code("DELETE", f"/subjects/{subject}?permanent=true") == (404, 40401)
    assert api.code("GET", f"/config/{subject}") == (404, 40408)


def test_an_id_is_never_given_twice(api: Api) -> None:
    first = api.id("rest-once", '{"type":"enum","name":"Once","symbols":["A"]}')
    api.delete("/subjects/rest-once")
    api.delete("/subjects/rest-once?permanent=true")
    assert api.code("GET", f"/schemas/ids/{first}") == (404, 40403)
    assert api.id("rest-once", '{"type":"enum","name":"Once","symbols":["B"]}') > first


def test_modes_and_import(api: Api) -> None:
    subject = "rest-import"
    assert api.code("GET", f"/mode/{subject}") == (404, 40409)
    assert api.put(f"/mode/{subject}", {"mode": "import"}) == (200, {"mode": "IMPORT"})
    assert api.code("PUT", f"/mode/{subject}", {"mode": "nope"}) == (422, 42204)
    assert api.register(subject, STRING)[1]["error_code"] == 42205  # no id
    fixed = '{"type":"fixed","name":"Imported","size":16}'
    assert api.id(subject, fixed, id=400_001, version=3) == 400_001
    assert api.id(subject, USER_INT, id=400_002, version=1) == 400_002
    assert api.register(subject, LONG, id=400_001, version=4)[1]["error_code"] == 42205  # the id is another schema's
    assert api.get(f"/subjects/{subject}/versions")[1] == [1, 3]
    assert api.put(f"/mode/{subject}", {"mode": "READWRITE"})[0] == 200
    assert api.register(subject, STRING, id=5)[1]["error_code"] == 42205
    api.put(f"/config/{subject}", {"compatibility": "NONE"})
    assert api.id(subject, '{"type":"enum","name":"Later","symbols":["A"]}') > 400_002
    assert api.get(f"/subjects/{subject}/versions")[1] == [1, 3, 4]
    assert api.put(f"/mode/{subject}", {"mode": "IMPORT"})[1]["error_code"] == 42205  # there are versions
    assert api.put(f"/mode/{subject}?force=true", {"mode": "IMPORT"})[0] == 200
    assert api.delete(f"/mode/{subject}") == (200, {"mode": "IMPORT"})


def test_contexts(api: Api) -> None:
    first = api.id(":.rest-x:orders", STRING)
    assert api.id(":.rest-y:orders", LONG) == first == 1  # ids count by context
    assert {".", ".rest-x", ".rest-y"} <= set(api.get("/contexts")[1])
    assert api.get("/subjects?subjectPrefix=:.rest-x:")[1] == [":.rest-x:orders"]
    assert api.get("/subjects?subjectPrefix=:*:orders")[1] == [":.rest-x:orders", ":.rest-y:orders"]
    assert api.get("/schemas/ids/1?subject=:.rest-y:")[1]["schema"] == LONG
    base = "/contexts/.rest-x"
    assert api.get(f"{base}/subjects")[1] == [":.rest-x:orders"]
    assert api.get(f"{base}/subjects/orders/versions/1")[1]["subject"] == ":.rest-x:orders"
    assert api.get(f"{base}/schemas/ids/1")[1]["schema"] == STRING
    assert api.post(f"{base}/subjects/more/versions", {"schema": INT})[1]["id"] == 2
    assert api.put(f"{base}/config", {"compatibility": "NONE"})[0] == 200
    assert api.get("/config/:.rest-x:")[1] == {"compatibilityLevel": "NONE"}
    assert api.post(f"{base}/compatibility/subjects/orders/versions/latest", {"schema": INT})[1]["is_compatible"]
    assert api.get("/contexts/.a:b/subjects")[0] == 400
    # a client that knows of no contexts finds what is in one
    assert api.get("/subjects/more/versions/1")[1]["subject"] == ":.rest-x:more"
    assert api.post("/subjects/more", {"schema": INT})[1]["subject"] == ":.rest-x:more"
    assert api.id(":.:rest-plain", STRING) == api.id("rest-plain", STRING)
    assert api.code("DELETE", "/contexts/.rest-y") == (422, 42211)
    api.delete("/subjects/:.rest-y:orders")
    api.delete("/subjects/:.rest-y:orders?permanent=true")
    assert api.delete("/contexts/.rest-y")[0] == 200
    assert ".rest-y" not in api.get("/contexts")[1]


def test_aliases(api: Api) -> None:
    id = api.id("rest-target", USER)
    assert api.put("/config/rest-alias", {"alias": "rest-target"}) == (200, {"alias": "rest-target"})
    assert api.get("/subjects/rest-alias/versions/1")[1]["subject"] == "rest-target"
    assert api.id("rest-alias", USER_AGE) > id
    assert api.get("/subjects/rest-target/versions")[1] == [1, 2]
    assert api.get(f"/schemas/ids/{id}?subject=rest-alias")[1]["schema"] == USER
    listed = api.get("/schemas?subjectPrefix=rest-target&aliases=true&latestOnly=true")[1]
    assert [(each["version"], each["aliases"]) for each in listed] == [(2, ["rest-alias"])]


def test_metadata_and_rules(api: Api) -> None:
    subject = "rest-metadata"
    rules = {"domainRules": [{"name": "check", "kind": "CONDITION", "type": "CEL", "mode": "WRITE", "expr": "true"}]}
    plain = api.id("rest-metadata-plain", USER)
    first = api.id(subject, USER, metadata={"properties": {"owner": "x"}, "tags": {"a": ["PII"]}}, ruleSet=rules)
    assert first != plain  # both are part of what an id stands for
    told = api.get(f"/subjects/{subject}/versions/1")[1]
    assert told["metadata"] == {"properties": {"owner": "x"}, "tags": {"a": ["PII"]}}
    assert told["ruleSet"] == rules
    assert api.id(subject, USER) == first  # what is not sent comes from the version before
    second = api.id(subject, USER, metadata={"properties": {"owner": "y"}})
    assert second not in (plain, first)
    assert api.register(subject, None, metadata={"properties": {"owner": "z"}})[1]["version"] == 3
    assert api.get(f"/subjects/{subject}/metadata?key=owner&value=x")[1]["version"] == 1
    assert api.code("GET", f"/subjects/{subject}/metadata?key=owner&value=no") == (404, 40403)
    assert len(api.get(f"/schemas?subjectPrefix={subject}&ruleType=CEL")[1]) >= 3
    assert (
        api.register(subject, USER, ruleSet={"domainRules": [{"name": "a"}, {"name": "a"}]})[1]["error_code"] == 42210
    )
    api.put(
        "/config/rest-defaults",
        {"defaultMetadata": {"properties": {"d": "1"}}, "overrideMetadata": {"properties": {"o": "1"}}},
    )
    api.id("rest-defaults", USER, metadata={"properties": {"d": "2", "o": "2"}})
    assert api.get("/subjects/rest-defaults/versions/1")[1]["metadata"] == {"properties": {"d": "2", "o": "1"}}


def test_version_in_metadata(api: Api) -> None:
    subject = "rest-numbered"
    api.put(f"/config/{subject}", {"compatibility": "NONE"})
    assert api.register(subject, STRING, version=1)[1]["metadata"] == {"properties": {"confluent:version": "1"}}
    assert api.register(subject, STRING)[1]["version"] == 1
    assert api.post(f"/subjects/{subject}", {"schema": STRING})[1]["version"] == 1
    assert api.register(subject, INT, version=3)[1]["error_code"] == 42201
    assert api.register(subject, INT)[1]["metadata"] == {"properties": {"confluent:version": "2"}}


def test_compatibility_groups(api: Api) -> None:
    subject = "rest-groups"
    api.put(f"/config/{subject}", {"compatibility": "BACKWARD", "compatibilityGroup": "major"})
    api.id(subject, USER, metadata={"properties": {"major": "1"}})
    assert api.register(subject, USER_INT, metadata={"properties": {"major": "1"}})[0] == 409
    assert api.register(subject, USER_INT, metadata={"properties": {"major": "2"}})[0] == 200
    assert api.register(subject, USER_AGE, metadata={"properties": {"major": "1"}})[0] == 200


def test_lists_have_pages(api: Api) -> None:
    for number in range(5):
        api.id(f"rest-page-{number}", STRING)
    path = "/subjects?subjectPrefix=rest-page-"
    assert api.get(f"{path}&offset=1&limit=2")[1] == ["rest-page-1", "rest-page-2"]
    assert api.get(f"{path}&offset=100")[1] == []
    assert api.get(f"{path}&limit=x")[0] == 404
    assert len(api.get("/schemas?subjectPrefix=rest-page-&limit=3")[1]) == 3
    assert "maxId" in api.get("/schemas/ids/1?fetchMaxId=true")[1]


def test_subjects_with_strange_names(api: Api) -> None:
    for name in ("with space", "a/b", "ünï", "%25", "a+b", "q?a", "#", "a:b", 'q"', "x" * 300):
        subject = f"rest-name-{name}"
        api.id(subject, STRING)
        assert api.get(f"/subjects/{quote(subject, safe='')}/versions/1")[1]["subject"] == subject
        assert subject in api.get("/subjects?subjectPrefix=rest-name-")[1]


def test_protobuf_and_json_schema(api: Api, registry: RegistryProcess) -> None:
    proto = 'syntax = "proto3";\npackage shop;\n\nmessage Order {\n  int64 id = 1;\n}\n'
    id = register(registry.port, "rest-proto", proto, schemaType="PROTOBUF")[1]["id"]
    assert api.get(f"/schemas/ids/{id}")[1]["schema"] == proto
    told = api.get(f"/schemas/ids/{id}?format=serialized")[1]["schema"]
    assert told.startswith("Cg") or told  # a FileDescriptorProto in base64
    assert api.get("/subjects/rest-proto/versions/1")[1]["schemaType"] == "PROTOBUF"
