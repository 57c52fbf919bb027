"""`settings.int("num.partitions")`: a value with the type the reader expects, checked, so that a wrong table row is
found by the first test that reads it. The plain names are worth it at the call; here they hide the builtins.
"""

from abc import ABC, abstractmethod
from typing import TypeAlias, TypeVar

from barnabas.model.settings.kinds import Value

Text: TypeAlias = str
Number: TypeAlias = int
Real: TypeAlias = float
Flag: TypeAlias = bool
Items: TypeAlias = tuple[str, ...]
T = TypeVar("T")


class TypedValues(ABC):
    __slots__ = ()

    @abstractmethod
    def __getitem__(self, name: Text) -> Value:
        """The value as its table has it."""

    def int(self, name: Text) -> Number:
        return _expect(name, self[name], Number)

    def float(self, name: Text) -> Real:
        value = self[name]
        return Real(value) if isinstance(value, Number) else _expect(name, value, Real)

    def str(self, name: Text) -> Text:
        return _expect(name, self[name], Text)

    def bool(self, name: Text) -> Flag:
        return _expect(name, self[name], Flag)

    def list(self, name: Text) -> Items:
        return _expect(name, self[name] or (), tuple)


def _expect(name: Text, value: object, kind: type[T]) -> T:
    assert isinstance(value, kind), f"{name} is {value!r}, not a {kind.__name__}"
    return value
