"""The table of routes: a method and a path, who handles it, and what a user needs a right to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from barnabas.registry.errors import RegistryError
from barnabas.registry.rest import compatibility, meta, schemas, settings, subjects
from barnabas.registry.rest.request import Request

Handler = Callable[..., Awaitable[object]]
# What is asked of a subject's topic (of the cluster where no subject is named), and what needs no right
Need = Literal["READ", "WRITE", "DELETE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "ID", "LIST", "NONE"]
_HOLE = "{}"


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str
    handler: Handler
    need: Need
    changes: bool = False  # what is answered may be another thing later

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.strip("/").split("/")) if self.path != "/" else ()


ROUTES = (
    Route("GET", "/", meta.root, "NONE"),
    Route("POST", "/", meta.root, "NONE"),
    Route("GET", "/subjects", subjects.list_subjects, "LIST", changes=True),
    Route("POST", "/subjects/{}", subjects.look_up, "READ"),
    Route("DELETE", "/subjects/{}", subjects.delete_subject, "DELETE"),
    Route("GET", "/subjects/{}/metadata", subjects.get_with_metadata, "READ", changes=True),
    Route("GET", "/subjects/{}/versions", subjects.list_versions, "READ", changes=True),
    Route("POST", "/subjects/{}/versions", subjects.register, "WRITE"),
    Route("GET", "/subjects/{}/versions/{}", subjects.get_version, "READ"),
    Route("DELETE", "/subjects/{}/versions/{}", subjects.delete_version, "DELETE"),
    Route("GET", "/subjects/{}/versions/{}/schema", subjects.get_version_schema, "READ"),
    Route("GET", "/subjects/{}/versions/{}/referencedby", subjects.get_referenced_by, "READ", changes=True),
    Route("GET", "/schemas", schemas.list_schemas, "LIST", changes=True),
    Route("GET", "/schemas/types", schemas.list_types, "NONE"),
    Route("GET", "/schemas/ids/{}", schemas.get_by_id, "ID"),
    Route("GET", "/schemas/ids/{}/schema", schemas.get_schema_by_id, "ID"),
    Route("GET", "/schemas/ids/{}/subjects", schemas.get_subjects_by_id, "ID", changes=True),
    Route("GET", "/schemas/ids/{}/versions", schemas.get_versions_by_id, "ID", changes=True),
    Route("GET", "/schemas/guids/{}", schemas.get_by_guid, "ID"),
    Route("GET", "/schemas/guids/{}/ids", schemas.get_ids_by_guid, "ID"),
    Route("GET", "/config", settings.get_config, "DESCRIBE_CONFIGS", changes=True),
    Route("PUT", "/config", settings.put_config, "ALTER_CONFIGS"),
    Route("DELETE", "/config", settings.delete_config, "ALTER_CONFIGS"),
    Route("GET", "/config/{}", settings.get_config, "DESCRIBE_CONFIGS", changes=True),
    Route("PUT", "/config/{}", settings.put_config, "ALTER_CONFIGS"),
    Route("DELETE", "/config/{}", settings.delete_config, "ALTER_CONFIGS"),
    Route("GET", "/mode", settings.get_mode, "DESCRIBE_CONFIGS", changes=True),
    Route("PUT", "/mode", settings.put_mode, "ALTER_CONFIGS"),
    Route("DELETE", "/mode", settings.delete_mode, "ALTER_CONFIGS"),
    Route("GET", "/mode/{}", settings.get_mode, "DESCRIBE_CONFIGS", changes=True),
    Route("PUT", "/mode/{}", settings.put_mode, "ALTER_CONFIGS"),
    Route("DELETE", "/mode/{}", settings.delete_mode, "ALTER_CONFIGS"),
    Route("POST", "/compatibility/subjects/{}/versions", compatibility.with_all, "READ", changes=True),
    Route("POST", "/compatibility/subjects/{}/versions/{}", compatibility.with_version, "READ", changes=True),
    Route("GET", "/contexts", meta.list_contexts, "LIST", changes=True),
    Route("DELETE", "/contexts/{}", meta.delete_context, "ALTER_CONFIGS"),
    Route("GET", "/v1/metadata/id", meta.metadata_id, "NONE"),
    Route("GET", "/v1/metadata/version", meta.metadata_version, "NONE"),
)


class Table:
    """By the number of parts and the first one, then one by one: at most a dozen are looked at."""

    def __init__(self, routes: Iterable[Route] = ROUTES) -> None:
        self._routes: dict[tuple[int, str], list[tuple[tuple[str, ...], Route]]] = {}
        for route in routes:
            parts = route.parts
            self._routes.setdefault((len(parts), parts[0] if parts else ""), []).append((parts, route))

    def find(self, request: Request) -> tuple[Route, list[str]]:
        segments = request.segments
        is_known = False
        for parts, route in self._routes.get((len(segments), segments[0] if segments else ""), ()):
            if all(part in (_HOLE, segment) for part, segment in zip(parts, segments, strict=True)):
                if route.method == request.method:
                    return route, [each for part, each in zip(parts, segments, strict=True) if part == _HOLE]
                is_known = True
        raise (
            RegistryError(405, "HTTP 405 Method Not Allowed") if is_known else RegistryError(404, "HTTP 404 Not Found")
        )
