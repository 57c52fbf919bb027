"""Classes that say their fields by type hints: dataclasses, msgspec structs and pydantic models, seen alike.

pydantic is not imported here: whoever has a model of it has loaded it.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_type_hints

import msgspec

from barnabas.client.errors import BadSetting
from barnabas.client.serde.serializers import Value

Kind = Literal["dataclass", "struct", "pydantic"]


class _NoDefault:
    pass


NO_DEFAULT = _NoDefault()
_STEADY = (list, dict, set, frozenset, tuple, str, int, float, bool, bytes)


@dataclass(frozen=True, slots=True)
class Field:
    name: str  # of the attribute
    written: str  # the name in the data: msgspec's rename, pydantic's alias
    type: Value
    default: object  # NO_DEFAULT where the field has to be given
    metadata: tuple[object, ...] = ()  # of pydantic: what was Annotated


def kind_of(found: object) -> Kind | None:
    """None for what is no such class."""
    if not isinstance(found, type):
        return None
    if issubclass(found, msgspec.Struct):
        return "struct"
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and issubclass(found, pydantic.BaseModel):
        return "pydantic"
    return "dataclass" if dataclasses.is_dataclass(found) else None


def fields_of(model: type[Value]) -> list[Field]:
    kind = kind_of(model)
    if kind == "pydantic":
        return [_of_pydantic(name, each) for name, each in model.model_fields.items()]
    try:
        hints = get_type_hints(model, include_extras=True)
    except NameError as error:
        raise BadSetting(f"the type hints of {model.__name__} cannot be read: {error}") from None
    if kind == "struct":
        return [
            Field(
                each.name,
                each.encode_name,
                hints[each.name],
                _default(each.default, each.default_factory, msgspec.NODEFAULT),
            )
            for each in msgspec.structs.fields(model)
        ]
    return [
        Field(each.name, each.name, hints[each.name], _default(each.default, each.default_factory, dataclasses.MISSING))
        for each in dataclasses.fields(model)
        if each.init
    ]


def _of_pydantic(name: str, info: Value) -> Field:
    default: object = NO_DEFAULT
    if not info.is_required():
        default = _steady(info.default_factory) if info.default_factory is not None else info.default
    return Field(name, info.alias or name, info.annotation, default, tuple(info.metadata))


def _default(value: object, factory: object, missing: object) -> object:
    if value is not missing:
        return value
    return _steady(factory) if callable(factory) else NO_DEFAULT


def _steady(factory: Callable[[], object]) -> object:
    """A factory's result, where it is always the same: a time or a random id would be a new schema at each start."""
    try:
        first, second = factory(), factory()
    except Exception:  # a factory of the user's may raise anything; pydantic's may want an argument
        return NO_DEFAULT
    known = isinstance(first, _STEADY) or kind_of(type(first)) is not None
    return first if known and first == second else NO_DEFAULT
