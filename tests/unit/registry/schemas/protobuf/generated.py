"""Protobuf schemas at random, and later versions of them: what people do to a schema, right and wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

SCALARS = [
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
    "sfixed64", "bool", "string", "bytes",
]  # fmt: skip
# Types whose bytes look alike and mean something else.
TRAPS = {
    "int32": "sint32", "sint64": "int64", "bool": "sint32", "Kind": "sint64", "float": "fixed32", "sfixed32": "float",
    "double": "fixed64", "fixed64": "double",
}  # fmt: skip
KEYS = ["int32", "string", "bool", "fixed64", "sint64"]


@dataclass
class Member:
    number: int
    name: str
    type: str  # a scalar, a message of the schema, "Kind" (an enum) or "map<k, v>"
    label: str = ""
    oneof: str = ""

    def text(self) -> str:
        return f"{self.label + ' ' if self.label else ''}{self.type} {self.name} = {self.number}"


@dataclass
class Drawn:
    syntax: str
    messages: dict[str, list[Member]] = field(default_factory=dict)
    nested: bool = False  # the last message stands within the first

    def text(self, random: Random | None = None) -> str:
        """With white space, comments and options in places where they say nothing, if `random` is there."""

        def blank() -> str:
            return random.choice([" ", "\n", " // c\n", "/* c */ ", "\t"]) if random else " "

        parts = [f'syntax = "{self.syntax}";', "package drawn;"]
        if random:
            parts.append(random.choice(["", 'option java_package = "a.b";', "option java_multiple_files = true;"]))
        names = list(self.messages)
        for name in names[:-1] if self.nested else names:
            parts.append(self._message(name, blank, random, names[-1] if self.nested and name == names[0] else ""))
        parts.append("enum Kind { NONE = 0; SOME = 1; }")
        return blank().join(parts)

    def _message(self, name: str, blank: Callable[[], str], random: Random | None, inner: str) -> str:
        body: list[str] = []
        for oneof in dict.fromkeys(each.oneof for each in self.messages[name] if each.oneof):
            members = [each.text() + ";" for each in self.messages[name] if each.oneof == oneof]
            body.append(f"oneof {oneof} {{{blank()}{blank().join(members)}{blank()}}}")
        for each in self.messages[name]:
            if not each.oneof:
                body.append(each.text() + (self._options(each, random) if random else "") + ";")
        if random:
            random.shuffle(body)
            body.insert(
                0, random.choice(["", "reserved 900 to 950;", 'reserved "gone", "left";', "option deprecated = true;"])
            )
        if inner:
            body.append(self._message(inner, blank, random, ""))
        return f"message {name} {{{blank()}{blank().join(body)}{blank()}}}"

    def _options(self, member: Member, random: Random) -> str:
        choices = [
            "",
            "",
            " [deprecated = true]",
            f' [json_name = "{member.name}X"]',
            " [jstype=JS_NORMAL, deprecated=false]",
        ]
        if self.syntax == "proto2" and member.label == "optional":
            default = {
                "int32": "0x1F",
                "double": "1e10",
                "float": "-.5",
                "string": '"a\\"\\n" \'b\'',
                "bytes": '"\\001\\xff?"',
            }
            default |= {"bool": "true", "Kind": "SOME", "uint64": "017", "sint32": "-7", "int64": "-0"}
            if member.type in default:
                choices.append(f" [default = {default[member.type]}]")
        if member.label == "repeated" and member.type in SCALARS[:13]:
            choices.append(" [packed = false]")
        return random.choice(choices)


def draw(random: Random) -> Drawn:
    syntax = random.choice(["proto2", "proto3"])
    names = [f"M{index}" for index in range(random.randint(1, 4))]
    drawn = Drawn(syntax, nested=len(names) > 1 and random.random() < 0.4)
    for name in names:
        numbers = random.sample([*range(1, 12), 17, 2_000, 536_870_911], random.randint(0, 6))
        drawn.messages[name] = [_member(random, drawn, names, number) for number in numbers]
    return drawn


def _member(random: Random, drawn: Drawn, names: list[str], number: int) -> Member:
    outside = names[:-1] if drawn.nested else names
    type = random.choice(
        [*SCALARS, "Kind", *outside, f"map<{random.choice(KEYS)}, {random.choice([*SCALARS, *outside])}>"]
    )
    member = Member(number, f"f_{number}", type)
    if type.startswith("map<"):
        return member
    if random.random() < 0.25:
        member.oneof = random.choice(["one", "two"])
    else:
        labels = ["optional", "repeated"] + ([""] * 2 if drawn.syntax == "proto3" else ["required"])
        member.label = random.choice(labels)
    return member


def changed(random: Random, drawn: Drawn) -> Drawn:
    """Another version: one or two changes."""
    later = dataclasses.replace(
        drawn, messages={name: [dataclasses.replace(m) for m in ms] for name, ms in drawn.messages.items()}
    )
    for _ in range(random.randint(1, 2)):
        _change(random, later)
    return later


def _change(random: Random, drawn: Drawn) -> None:
    names = list(drawn.messages)
    members = drawn.messages[random.choice(names)]
    kind = random.choice(["add", "remove", "type", "near", "trap", "trap", "label", "oneof", "rename"])
    if kind == "add" or not members:
        number = random.choice([12, 13, 14])
        if all(each.number != number for each in members):
            members.append(_member(random, drawn, names, number))
        return
    member = random.choice(members)
    is_map = member.type.startswith("map<")
    if kind == "remove":
        members.remove(member)
    elif kind == "type" and not is_map:
        member.type = random.choice([*SCALARS, "Kind"])
    elif kind == "near":
        near = {
            "int32": "int64",
            "int64": "uint32",
            "string": "bytes",
            "bytes": "string",
            "sint32": "sint64",
            "fixed32": "sfixed32",
        }
        near |= {"uint32": "bool", "bool": "Kind", "Kind": "int32", "fixed64": "sfixed64", "uint64": "int32"}
        member.type = near.get(member.type, member.type)
    elif kind == "trap" and member.label == "repeated" and drawn.syntax == "proto3":
        member.label = ""  # the packed bytes of numbers are not those of one number
    elif kind == "trap" and member.type in TRAPS:
        member.type = TRAPS[member.type]
    elif kind in ("label", "trap") and not is_map and not member.oneof:
        member.label = random.choice(["optional", "repeated", "" if drawn.syntax == "proto3" else "required"])
    elif kind == "oneof" and not is_map and member.label != "repeated":
        member.oneof = random.choice(["one", "two", ""])
        member.label = "" if member.oneof or drawn.syntax == "proto3" else "optional"
    else:
        member.name += "_x"
