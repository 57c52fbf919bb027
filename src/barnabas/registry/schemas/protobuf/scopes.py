"""What a name in a .proto file means: packages, messages and enums are scopes within each other.

A name is looked for in the scope where it is used, then in the one around it, up to the root. As in Confluent's
registry, the whole of a name with dots is tried in each scope, and all files at hand are searched, whether the text
imports them or not. What the text itself defines goes before its references, and those before the known files.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.registry.schemas.parsed import InvalidSchema
from barnabas.registry.schemas.protobuf.tokens import NAME_MAX
from barnabas.registry.schemas.protobuf.tree import Enum, Extend, Field, File, Message

_FULL_NAME_MAX = 2 * NAME_MAX


class Scope:
    """A package, or what is defined under a name: a message, an enum, an extension."""

    __slots__ = ("_resolved", "children", "definition", "file", "full_name", "package", "parent")

    def __init__(self, full_name: str, parent: Scope | None, package: str, file: File | None) -> None:
        self.full_name = full_name
        self.parent = parent
        self.package = package  # of the file that defines it
        self.file = file
        self.definition: Message | Enum | Field | None = None
        self.children: dict[str, Scope] = {}
        self._resolved: dict[str, Scope | None] = {}

    @property
    def local_name(self) -> str:
        """Without the package: what the two versions of a type have in common when the package changes."""
        return self.full_name[len(self.package) + 1 :] if self.package else self.full_name

    @property
    def message(self) -> Message | None:
        return self.definition if isinstance(self.definition, Message) else None

    def below(self, name: str) -> Scope:
        found = self.children.get(name)
        if found is None:
            full_name = f"{self.full_name}.{name}" if self.full_name else name
            if len(full_name) > _FULL_NAME_MAX:
                raise InvalidSchema(f"a full name has more than {_FULL_NAME_MAX} characters: {full_name[:60]}...")
            found = self.children[name] = Scope(full_name, self, self.package, self.file)
        return found

    def resolve(self, name: str) -> Scope | None:
        """The message or enum that `name` means here. Asked when all files are in: what was found once stays."""
        try:
            return self._resolved[name]
        except KeyError:
            found = self._resolved[name] = self._search(name, (Message, Enum))
            return found

    def resolve_extension(self, name: str) -> Scope | None:
        return self._search(name, (Field,))

    def _search(self, name: str, kinds: tuple[type, ...]) -> Scope | None:
        absolute = name.startswith(".")
        first, *others = name[absolute:].split(".")
        scope: Scope | None = self.root() if absolute else self
        while scope is not None:
            found = scope.children.get(first)
            for part in others:
                if found is None:
                    break
                found = found.children.get(part)
            if found is not None and isinstance(found.definition, kinds):
                return found
            scope = scope.parent
        return None

    def root(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class Names:
    """The scopes of a file with all others at hand."""

    def __init__(self) -> None:
        self.root = Scope("", None, "", None)

    def package(self, name: str) -> Scope:
        scope = self.root
        for part in name.split(".") if name else ():
            scope = scope.below(part)
        return scope

    def add(self, file: File, own: bool = False) -> None:
        """`own`: a name must be new. Otherwise what is there stays."""
        scope = self.package(file.package)
        for each in file.body:
            if isinstance(each, Message | Enum | Extend):
                self._define(scope, each, file, own)

    def _define(self, scope: Scope, each: Message | Enum | Extend, file: File, own: bool) -> None:
        if isinstance(each, Extend):
            for field in each.fields:
                if field.group is not None:
                    self._define(scope, field.group, file, own)
                self._enter(scope, field.name, field, file, own)
            return
        inner = self._enter(scope, each.name, each, file, own)
        if inner is None or isinstance(each, Enum):
            return
        for member in each.body:
            if isinstance(member, Message | Enum | Extend):
                self._define(inner, member, file, own)
        for field, _ in each.fields():
            if field.group is not None:
                self._define(inner, field.group, file, own)

    def _enter(self, scope: Scope, name: str, it: Message | Enum | Field, file: File, own: bool) -> Scope | None:
        inner = scope.below(name)
        if inner.definition is not None:
            if own:
                raise InvalidSchema(f"{inner.full_name} is defined twice")
            return None
        inner.definition, inner.package, inner.file = it, file.package, file
        return inner


def messages_in(scope: Scope, file: File) -> Iterator[tuple[Message, Scope]]:
    """Every message of a file, groups too, with the scope that it is."""
    waiting = [(each, scope) for each in reversed(file.messages)]
    waiting.extend(
        (field.group, scope) for extend in file.extends for field in extend.fields if field.group is not None
    )
    while waiting:
        message, around = waiting.pop()
        inner = around.children[message.name]
        yield message, inner
        waiting.extend((each, inner) for each in reversed(message.messages))
        groups = [field.group for field, _ in message.fields()]
        groups += [field.group for extend in message.extends for field in extend.fields]
        waiting.extend((group, inner) for group in groups if group is not None)
