"""A schema registry from a program: its schemas, and serializers that use them. Any number of threads may share one.

    registry = Registry("http://127.0.0.1:8081")
    registry.avro(Order), registry.json_schema(Order), registry.protobuf(Order)

What a registry says of an id, a GUID or a version never changes, so it is asked once (a bounded cache). What the newest
version is, is asked each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from barnabas.client.errors import BadSetting, RegistryError
from barnabas.client.serde.registry.cache import Cache
from barnabas.client.serde.registry.connection import Http, Json
from barnabas.client.serde.registry.framing import SchemaKey
from barnabas.client.serde.registry.profile import settings_for
from barnabas.client.serde.registry.schema import Registered, Schema, registered_of, schema_of, table_of
from barnabas.client.serde.registry.serializer import SchemaSerializer, Writing
from barnabas.client.serde.registry.settings import registry_settings
from barnabas.client.serde.registry.subjects import SubjectStrategy
from barnabas.model.limits import SCHEMA_REFERENCES_MAX

if TYPE_CHECKING:
    from barnabas.client.serde.registry.avro.format import AvroSource
    from barnabas.client.serde.registry.json_schema.format import JsonSource
    from barnabas.client.serde.serializers import Value

Version = int | str  # a number or "latest"


class Registry:
    def __init__(self, url: str | None = None, **settings: object) -> None:
        """`url`: one address, or several with commas; else BARNABAS_REGISTRY, else http://127.0.0.1:8081. `settings` by
        Confluent's names with _ for the dot: basic_auth_user_info="user:password", bearer_auth_token, ssl_ca_location,
        ssl_certificate_location, ssl_key_location, timeout."""
        found = registry_settings(url, settings)
        if found.authorization is None and (known := settings_for({str(each) for each in found.addresses})):
            found = registry_settings(url, {**known, **settings})
        self._http = Http(found)
        self._schemas: Cache[tuple[SchemaKey, str], Schema] = Cache()
        self._versions: Cache[tuple[str, int, str], Registered] = Cache()

    def __str__(self) -> str:
        return str(self._http.settings)

    def __repr__(self) -> str:
        return f"Registry({str(self)!r})"

    # --- serializers -------------------------------------------------------------------------------------------------

    def avro(
        self,
        schema: AvroSource | None = None,
        *,
        auto_register: bool = True,
        use_latest_version: bool = False,
        normalize: bool = False,
        subject: SubjectStrategy = "topic",
        ids_in_headers: bool = False,
        namespace: str | None = None,
    ) -> SchemaSerializer:
        """Avro. `schema`: a dataclass, a pydantic model, a msgspec struct, a dict, a JSON text or the path of an .avsc.
        Without one: of the value itself when writing, and as it was written when reading."""
        from barnabas.client.serde.registry.avro.format import AvroFormat

        options = Writing(auto_register, use_latest_version, normalize, subject, ids_in_headers)
        return SchemaSerializer(self, AvroFormat(schema, namespace), options)

    def json_schema(
        self,
        schema: JsonSource | None = None,
        *,
        auto_register: bool = True,
        use_latest_version: bool = False,
        normalize: bool = False,
        subject: SubjectStrategy = "topic",
        ids_in_headers: bool = False,
        validate: bool = True,
    ) -> SchemaSerializer:
        """JSON with a JSON Schema. `schema`: a dataclass, a pydantic model, a msgspec struct, a dict, a JSON text or
        the path of a .json. `validate`: what is written is checked against it first."""
        from barnabas.client.serde.registry.json_schema.format import JsonSchemaFormat

        options = Writing(auto_register, use_latest_version, normalize, subject, ids_in_headers)
        return SchemaSerializer(self, JsonSchemaFormat(schema, validate), options)

    def protobuf(
        self,
        schema: type[Value] | None = None,
        *,
        auto_register: bool = True,
        use_latest_version: bool = False,
        normalize: bool = False,
        subject: SubjectStrategy = "topic",
        ids_in_headers: bool = False,
    ) -> SchemaSerializer:
        """Protobuf. `schema`: a class that protoc made; without one the class of what is written, and when reading one
        that is made from the registry's schema."""
        from barnabas.client.serde.registry.protobuf.format import ProtobufFormat

        options = Writing(auto_register, use_latest_version, normalize, subject, ids_in_headers)
        return SchemaSerializer(self, ProtobufFormat(schema), options)

    # --- schemas -----------------------------------------------------------------------------------------------------

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> Registered:
        """Its id; the same schema has it already. RegistryError with code 409 where it is not compatible."""
        doing = f"register a schema of {subject!r}"
        answer = self._ask("POST", f"{_of(subject)}/versions", doing, schema.body(), normalize=normalize)
        found = registered_of(answer, doing, schema)
        return Registered(schema, found.id, found.guid, found.subject or subject, found.version)

    def lookup(self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False) -> Registered:
        """The version of the subject that has this schema. RegistryError with code 40403 where none has."""
        doing = f"look up a schema of {subject!r}"
        answer = self._ask("POST", _of(subject), doing, schema.body(), normalize=normalize, deleted=deleted)
        return registered_of(answer, doing, schema)

    def check(self, subject: str, schema: Schema, version: Version | None = "latest") -> tuple[bool, list[str]]:
        """Whether it is compatible with a version (None: with all that the subject's level names), and why not."""
        doing = f"check a schema with {subject!r}"
        tail = "" if version is None else f"/{version}"
        path = f"/compatibility{_of(subject)}/versions{tail}"
        table = table_of(self._ask("POST", path, doing, schema.body(), verbose=True), doing)
        why = table.get("messages")
        return table.get("is_compatible") is True, [str(each) for each in why] if isinstance(why, list) else []

    def newest(self, prefix: str | None = None, *, deleted: bool = False) -> list[Registered]:
        """The newest version of every subject."""
        doing = "list schemas"
        found = self._ask("GET", "/schemas", doing, subjectPrefix=prefix, deleted=deleted, latestOnly=True)
        return [registered_of(each, doing) for each in found] if isinstance(found, list) else []

    def subjects(self, prefix: str | None = None, *, deleted: bool = False) -> list[str]:
        return _texts(self._ask("GET", "/subjects", "list subjects", subjectPrefix=prefix, deleted=deleted))

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        found = self._ask("GET", f"{_of(subject)}/versions", f"list versions of {subject!r}", deleted=deleted)
        return [each for each in found if isinstance(each, int)] if isinstance(found, list) else []

    def version(
        self, subject: str, version: Version = "latest", *, format: str = "", deleted: bool = False
    ) -> Registered:
        """A number never means another schema later, so it is asked once."""
        known = self._versions.get((subject, version, format)) if isinstance(version, int) else None
        if known is not None:
            return known
        doing = f"get version {version} of {subject!r}"
        path = f"{_of(subject)}/versions/{version}"
        found = registered_of(self._ask("GET", path, doing, format=format or None, deleted=deleted), doing)
        return self._versions.put((subject, found.version, format), found)

    def referenced_by(self, subject: str, version: Version = "latest") -> list[int]:
        """Ids of the schemas that name this one."""
        path = f"{_of(subject)}/versions/{version}/referencedby"
        found = self._ask("GET", path, f"list what refers to {subject!r}")
        return [each for each in found if isinstance(each, int)] if isinstance(found, list) else []

    def schema(self, key: SchemaKey, *, format: str = "") -> Schema:
        """By id or GUID. RegistryError with code 40403 where the registry has none."""
        known = self._schemas.get((key, format))
        if known is not None:
            return known
        kind, doing = (
            ("ids", f"get schema {key}") if isinstance(key, int) else ("guids", f"get the schema of GUID {key}")
        )
        answer = self._ask("GET", f"/schemas/{kind}/{key}", doing, format=format or None)
        return self._schemas.put((key, format), schema_of(answer, doing))

    def references(self, schema: Schema, *, format: str = "") -> list[tuple[str, Schema]]:
        """All that the schema names, with the names that are used for it: each once, and before what names it."""
        found: dict[str, Schema] = {}
        visited: set[str] = set()
        waiting = [(each, False) for each in reversed(schema.references)]
        while waiting:
            reference, done = waiting.pop()
            if done:
                found[reference.name] = self.version(
                    reference.subject, reference.version, format=format, deleted=True
                ).schema
                continue
            if reference.name in visited:
                continue
            if len(visited) >= SCHEMA_REFERENCES_MAX:
                raise RegistryError(f"a schema has more than {SCHEMA_REFERENCES_MAX:,} references", 200, 0)
            visited.add(reference.name)
            inner = self.version(reference.subject, reference.version, format=format, deleted=True).schema
            waiting.append((reference, True))
            waiting += [(each, False) for each in reversed(inner.references)]
        return list(found.items())

    # --- levels, deletes ---------------------------------------------------------------------------------------------

    def level(self, subject: str | None = None) -> str:
        """The compatibility level of a subject, or the registry's own."""
        doing = "get the compatibility level" + (f" of {subject!r}" if subject else "")
        path = f"/config/{quote(subject, safe='')}" if subject else "/config"
        table = table_of(self._ask("GET", path, doing, defaultToGlobal=True if subject else None), doing)
        return str(table.get("compatibilityLevel", ""))

    def set_level(self, level: str, subject: str | None = None) -> str:
        doing = "set the compatibility level" + (f" of {subject!r}" if subject else "")
        path = f"/config/{quote(subject, safe='')}" if subject else "/config"
        return str(table_of(self._ask("PUT", path, doing, {"compatibility": level}), doing).get("compatibility", level))

    def delete_version(self, subject: str, version: Version, *, permanent: bool = False) -> int:
        doing = f"delete version {version} of {subject!r}"
        found = self._ask("DELETE", f"{_of(subject)}/versions/{version}", doing, permanent=permanent)
        if isinstance(version, int):
            self._versions.forget((subject, version, ""))
        return found if isinstance(found, int) else 0

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        found = self._ask("DELETE", _of(subject), f"delete subject {subject!r}", permanent=permanent)
        return [each for each in found if isinstance(each, int)] if isinstance(found, list) else []

    def close(self) -> None:
        self._http.close()

    def _ask(self, method: str, path: str, doing: str, body: object = None, **query: object) -> Json:
        return self._http.request(method, path, doing, body, query)


def registry_of(given: Registry | str | dict[str, object] | None) -> Registry:
    """What `registry=` of a producer or consumer may be."""
    if isinstance(given, Registry):
        return given
    if given is None or isinstance(given, str):
        return Registry(given)
    if isinstance(given, dict):
        url = given.get("url")
        return Registry(
            url if url is None else str(url), **{name: each for name, each in given.items() if name != "url"}
        )
    raise BadSetting(f"registry is an address, a Registry or a dictionary of its settings, not {given!r}")


def _of(subject: str) -> str:
    return f"/subjects/{quote(subject, safe='')}"


def _texts(found: Json) -> list[str]:
    names: Sequence[Json] = found if isinstance(found, list) else ()
    return [each for each in names if isinstance(each, str)]
