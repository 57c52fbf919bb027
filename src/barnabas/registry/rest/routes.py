"""The table of routes: a method and a path, and who handles it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from barnabas.registry.errors import RegistryError
from barnabas.registry.rest import compatibility, meta, schemas, settings, subjects
from barnabas.registry.rest.request import Request

Handler = Callable[..., Awaitable[object]]
_HOLE = "{}"


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str
    handler: Handler
    changes: bool = False  # what is answered may be another thing later

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.strip("/").split("/")) if self.path != "/" else ()


ROUTES = (
    Route("GET", "/", meta.root),
    Route("POST", "/", meta.root),
    Route("GET", "/subjects", subjects.list_subjects, changes=True),
    Route("POST", "/subjects/{}", subjects.look_up),
    Route("DELETE", "/subjects/{}", subjects.delete_subject),
    Route("GET", "/subjects/{}/metadata", subjects.get_with_metadata, changes=True),
    Route("GET", "/subjects/{}/versions", subjects.list_versions, changes=True),
    Route("POST", "/subjects/{}/versions", subjects.register),
    Route("GET", "/subjects/{}/versions/{}", subjects.get_version),
    Route("DELETE", "/subjects/{}/versions/{}", subjects.delete_version),
    Route("GET", "/subjects/{}/versions/{}/schema", subjects.get_version_schema),
    Route("GET", "/subjects/{}/versions/{}/referencedby", subjects.get_referenced_by, changes=True),
    Route("GET", "/schemas", schemas.list_schemas, changes=True),
    Route("GET", "/schemas/types", schemas.list_types),
    Route("GET", "/schemas/ids/{}", schemas.get_by_id),
    Route("GET", "/schemas/ids/{}/schema", schemas.get_schema_by_id),
    Route("GET", "/schemas/ids/{}/subjects", schemas.get_subjects_by_id, changes=True),
    Route("GET", "/schemas/ids/{}/versions", schemas.get_versions_by_id, changes=True),
    Route("GET", "/schemas/guids/{}", schemas.get_by_guid),
    Route("GET", "/schemas/guids/{}/ids", schemas.get_ids_by_guid),
    Route("GET", "/config", settings.get_config, changes=True),
    Route("PUT", "/config", settings.put_config),
    Route("DELETE", "/config", settings.delete_config),
    Route("GET", "/config/{}", settings.get_config, changes=True),
    Route("PUT", "/config/{}", settings.put_config),
    Route("DELETE", "/config/{}", settings.delete_config),
    Route("GET", "/mode", settings.get_mode, changes=True),
    Route("PUT", "/mode", settings.put_mode),
    Route("DELETE", "/mode", settings.delete_mode),
    Route("GET", "/mode/{}", settings.get_mode, changes=True),
    Route("PUT", "/mode/{}", settings.put_mode),
    Route("DELETE", "/mode/{}", settings.delete_mode),
    Route("POST", "/compatibility/subjects/{}/versions", compatibility.with_all, changes=True),
    Route("POST", "/compatibility/subjects/{}/versions/{}", compatibility.with_version, changes=True),
    Route("GET", "/contexts", meta.list_contexts, changes=True),
    Route("DELETE", "/contexts/{}", meta.delete_context),
    Route("GET", "/v1/metadata/id", meta.metadata_id),
    Route("GET", "/v1/metadata/version", meta.metadata_version),
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
