"""/, /contexts and /v1/metadata: about the registry itself."""

from __future__ import annotations

from barnabas.registry.rest.allowing import check
from barnabas.registry.rest.changing import alone, change
from barnabas.registry.rest.contexts import context_named
from barnabas.registry.rest.request import Request
from barnabas.registry.rest.service import Service
from barnabas.registry.state import questions
from barnabas.registry.state.deciding import deleting

_SPEAKS = "8.0.0"  # of Confluent's registry: clients decide by it which endpoints there are


async def root(service: Service, request: Request) -> object:
    return {}


async def list_contexts(service: Service, request: Request) -> object:
    check(request, None, ("describe",))
    return questions.contexts(service.contents)[request.page()]


async def delete_context(service: Service, request: Request, context: str) -> object:
    check(request, None, ("alter",))
    name = context_named(context)
    return await change(service, request, alone(lambda contents: deleting.delete_context(contents, name)))


async def metadata_id(service: Service, request: Request) -> object:
    scope = {
        "path": [],
        "clusters": {"kafka-cluster": service.cluster_id, "schema-registry-cluster": "schema-registry"},
    }
    return {"id": "", "scope": scope}


async def metadata_version(service: Service, request: Request) -> object:
    return {"version": _SPEAKS, "commitId": ""}
