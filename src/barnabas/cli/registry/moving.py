"""All that a registry has, from one place to another: out of a registry or a file, into a registry or a file.

A file has one record a line, as the topic `_schemas` has them: {"key": {"keytype": "SCHEMA", ...}, "value": {...}}. A
registry is read and written by its REST API alone, so it may be Confluent's. Versions keep their ids and numbers: their
subject is in IMPORT mode while they are written. What is there already, equal, is written again; whatever was left
half done is finished by doing it again. The mode of everything is not moved: the old place was made READONLY for this.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import quote

from barnabas.cli.common.failure import Failure
from barnabas.cli.common.human import plural
from barnabas.client.errors import RegistryError
from barnabas.client.serde.registry.connection import Http

_PAGE = 500
_AT_ONCE = 8
_MISSING_REFERENCE, _REFERENCED, _ALREADY_DELETED = 42201, 42206, 40406
_DEFAULT_CONTEXT = "."
Json = dict[str, Any]  # what the registry says


@dataclass(slots=True)
class Moved:
    """`schemas`: as the registry shows them, with `deleted`. Levels and modes by subject, by context (`:.context:`),
    and by "" for everything."""

    schemas: list[Json] = field(default_factory=list)
    configs: dict[str, Json] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)

    @property
    def subjects(self) -> list[str]:
        return sorted({str(each["subject"]) for each in self.schemas})

    def counts(self) -> dict[str, int]:
        settings = len(self.configs) + len(self.modes)
        return {"versions": len(self.schemas), "subjects": len(self.subjects), "settings": settings}

    def told(self) -> str:
        settings = len(self.configs) + len(self.modes)
        versions, subjects = plural(len(self.schemas), "version"), plural(len(self.subjects), "subject")
        return f"{versions} of {subjects}, and {plural(settings, 'setting')}"


# --- out of a registry ----------------------------------------------------------------------------------------------


def read_registry(http: Http) -> Moved:
    live = {(each["subject"], each["version"]) for each in _schemas(http, deleted=False)}
    found = Moved()
    for each in _schemas(http, deleted=True):
        each["deleted"] = (each["subject"], each["version"]) not in live
        found.schemas.append(each)
    contexts = _asked(http, "/contexts") or []
    places = [f":{each}:" for each in contexts if each != _DEFAULT_CONTEXT]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        every = ["", *places, *found.subjects]
        for place, config in zip(every, threads.map(lambda each: _setting(http, "config", each), every), strict=True):
            if config is not None:
                found.configs[place] = config
        for place, mode in zip(every, threads.map(lambda each: _setting(http, "mode", each), every), strict=True):
            if mode is not None and place:
                found.modes[place] = mode["mode"]
    return found


def _schemas(http: Http, *, deleted: bool) -> Iterator[Json]:
    offset = 0
    while True:
        query = {"subjectPrefix": ":*:", "deleted": deleted, "offset": offset, "limit": _PAGE}
        page: Any = http.request(  # as _asked
            "GET", "/schemas", "cannot list the schemas", query=query
        )
        yield from page
        offset += len(page)
        if not page:
            return


def _setting(http: Http, kind: str, place: str) -> Json | None:
    found: Json | None = _asked(http, f"/{kind}/{quote(place, safe='')}" if place else f"/{kind}")
    return found


def _asked(http: Http, path: str) -> Any:  # a registry's answer, which may be a stranger's
    """None where there is none."""
    try:
        return http.request("GET", path, f"cannot read {path}")
    except RegistryError as error:
        if error.status == 404:
            return None
        raise


# --- into a registry ------------------------------------------------------------------------------------------------


def write_registry(http: Http, moved: Moved) -> None:
    subjects = moved.subjects
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        list(threads.map(lambda each: _put_mode(http, each, "IMPORT"), subjects))
        _write_all(http, threads, moved.schemas)
        _delete_all(http, threads, [each for each in moved.schemas if each["deleted"]])
        list(threads.map(lambda each: _end_import(http, each, moved.modes.get(each)), subjects))
    for place, config in moved.configs.items():
        body = {("compatibility" if name == "compatibilityLevel" else name): each for name, each in config.items()}
        path = f"/config/{quote(place, safe='')}" if place else "/config"
        http.request("PUT", path, f"cannot set the level of {place or 'everything'}", body)
    for place, mode in moved.modes.items():
        if place not in subjects:
            _put_mode(http, place, mode)


def _put_mode(http: Http, place: str, mode: str) -> None:
    path = f"/mode/{quote(place, safe='')}"
    http.request("PUT", path, f"cannot set the mode of {place}", {"mode": mode}, {"force": True})


def _end_import(http: Http, subject: str, mode: str | None) -> None:
    if mode is not None:
        _put_mode(http, subject, mode)
    else:
        http.request("DELETE", f"/mode/{quote(subject, safe='')}", f"cannot end the import of {subject}")


def _write_all(http: Http, threads: ThreadPoolExecutor, schemas: Iterable[Json]) -> None:
    """In the order of ids; one that refers to another that is not there yet comes again after the others."""
    waiting = sorted(schemas, key=lambda each: (each["id"], each["subject"], each["version"]))
    while waiting:
        refused = [each for each in threads.map(lambda each: _write(http, each), waiting) if each is not None]
        if len(refused) == len(waiting):
            raise Failure(str(refused[0][1]))
        waiting = [each for each, _ in refused]


def _write(http: Http, schema: Json) -> tuple[Json, RegistryError] | None:
    names = ("schema", "schemaType", "references", "metadata", "ruleSet", "id", "version")
    body = {name: schema[name] for name in names if name in schema}
    doing = f"cannot write version {schema['version']} of {schema['subject']}"
    try:
        http.request("POST", f"/subjects/{quote(schema['subject'], safe='')}/versions", doing, body)
    except RegistryError as error:
        if error.error_code == _MISSING_REFERENCE and schema.get("references"):
            return schema, error
        raise
    return None


def _delete_all(http: Http, threads: ThreadPoolExecutor, schemas: list[Json]) -> None:
    """One that another refers to comes after the other."""
    waiting = schemas
    while waiting:
        left = [each for each in threads.map(lambda each: _delete(http, each), waiting) if each is not None]
        if len(left) == len(waiting):
            return  # something that is not deleted refers to them: then they stay, which harms nobody
        waiting = left


def _delete(http: Http, schema: Json) -> Json | None:
    path = f"/subjects/{quote(schema['subject'], safe='')}/versions/{schema['version']}"
    try:
        http.request("DELETE", path, f"cannot delete version {schema['version']} of {schema['subject']}")
    except RegistryError as error:
        if error.error_code == _REFERENCED:
            return schema
        if error.error_code != _ALREADY_DELETED:
            raise
    return None


# --- files ----------------------------------------------------------------------------------------------------------


def write_file(moved: Moved, out: IO[str]) -> None:
    for place, config in moved.configs.items():
        _line(out, {"keytype": "CONFIG", "subject": place or None, "magic": 0}, config)
    for place, mode in moved.modes.items():
        _line(out, {"keytype": "MODE", "subject": place, "magic": 0}, {"subject": place, "mode": mode})
    for each in sorted(moved.schemas, key=lambda each: (each["id"], each["subject"], each["version"])):
        value = {name: value for name, value in each.items() if name not in ("ts", "createTs", "aliases")}
        key = {"keytype": "SCHEMA", "subject": each["subject"], "version": each["version"], "magic": 1}
        _line(out, key, value)


def _line(out: IO[str], key: Json, value: Json) -> None:
    out.write(json.dumps({"key": key, "value": value}, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_file(lines: Iterable[str], name: str) -> Moved:
    found = Moved()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            told = json.loads(line)
            key, value = told["key"], told["value"]
            match key["keytype"]:
                case "SCHEMA":
                    found.schemas.append({**value, "deleted": bool(value.get("deleted"))})
                    assert all(type(value[each]) is int for each in ("id", "version"))
                    assert type(value["subject"]) is str
                case "CONFIG":
                    found.configs[key["subject"] or ""] = {k: v for k, v in value.items() if k != "subject"}
                case "MODE" if key["subject"]:
                    found.modes[key["subject"]] = value["mode"]
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError):
            raise Failure(f"line {number} of {name} is not a record of an export") from None
    return found
