"""/config and /mode, of everything, of a context and of a subject."""

from __future__ import annotations

import msgspec

from barnabas.registry.errors import no_level, no_mode
from barnabas.registry.rest.allowing import CHANGE_SETTINGS, SEE_SETTINGS, check
from barnabas.registry.rest.changing import alone, change
from barnabas.registry.rest.request import Request, scope_named
from barnabas.registry.rest.service import Service
from barnabas.registry.rest.subjects import check_rules
from barnabas.registry.state import questions
from barnabas.registry.state.deciding import settings
from barnabas.registry.state.deciding.settings import ConfigRequest, ModeRequest
from barnabas.registry.state.values import Config, Mode, RuleSet


async def get_config(service: Service, request: Request, subject: str = "") -> object:
    scope = scope_named(subject)
    check(request, scope, SEE_SETTINGS)
    if scope is None or request.flag("defaultToGlobal"):
        return questions.config_in_scope(service.contents, scope)

    def look() -> Config:
        found = questions.own_config(service.contents, scope)
        if found is None:
            raise no_level(scope)
        return found

    return await service.found(look)


async def put_config(service: Service, request: Request, subject: str = "") -> object:
    scope = scope_named(subject)
    check(request, scope, CHANGE_SETTINGS)
    body = request.json(ConfigRequest)
    for rules in (body.default_rule_set, body.override_rule_set):
        if isinstance(rules, RuleSet):
            check_rules(rules)
    return await change(service, request, alone(lambda contents: settings.set_config(contents, scope, body)))


async def delete_config(service: Service, request: Request, subject: str = "") -> object:
    scope = scope_named(subject)
    check(request, scope, CHANGE_SETTINGS)
    return await change(
        service, request, alone(lambda contents: settings.delete_config(contents, scope)), msgspec.to_builtins
    )


async def get_mode(service: Service, request: Request, subject: str = "") -> object:
    scope = scope_named(subject)
    check(request, scope, SEE_SETTINGS)
    if scope is None or request.flag("defaultToGlobal"):
        return {"mode": questions.mode_in_scope(service.contents, scope)}

    def look() -> Mode:
        found = questions.own_mode(service.contents, scope)
        if found is None:
            raise no_mode(scope)
        return found

    return {"mode": await service.found(look)}


async def put_mode(service: Service, request: Request, subject: str = "") -> object:
    scope = scope_named(subject)
    check(request, scope, CHANGE_SETTINGS)
    body = request.json(ModeRequest)
    return await change(
        service, request, alone(lambda contents: settings.set_mode(contents, scope, body, force=request.flag("force")))
    )


async def delete_mode(service: Service, request: Request, subject: str = "") -> object:
    scope = scope_named(subject)
    check(request, scope, CHANGE_SETTINGS)
    return await change(service, request, alone(lambda contents: settings.delete_mode(contents, scope)))
