"""The language of filters: what each form means, what is refused and where, and that it agrees with a slow judge."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.browse.expression import BadExpression, Subject, compiled, mask, masked_paths
from barnabas.browse.expression.literals import necessary
from barnabas.browse.expression.parser import parse

VALUE = {
    "user": {"name": "ada", "age": 36, "admin": True, "none": None},
    "items": [{"price": 5, "name": "pen"}, {"price": 12.5, "name": "ink"}],
    "tags": ["red", "blue"],
    "a b": 1,
    "note": 'line\nwith é and "quotes"',
    "zero": 0,
    "off": False,
}
SUBJECT = Subject(
    3,
    1200,
    1_777_629_600_000,
    b"user-17",
    json.dumps(VALUE).encode(),
    [("source", b"web"), ("source", b"app"), ("n", None)],
)


@pytest.mark.parametrize(
    "text",
    [
        '.user.name == "ada"',
        ".user.name == 'ada'",
        'value.user.name == "ada"',
        ".user.age == 36.0",
        ".user.age >= 36 and .user.age < 37",
        '.user.name != "bob"',
        ".user.admin == true",
        ".user.admin",
        "not .off",
        "not .user.none",
        ".zero",  # only null and false are not true
        ".user.none == null",
        ".user.nothing == null",
        ".items[0].price == 5",
        '.items[-1].name == "ink"',
        ".items[].price > 10",
        '.tags[] == "blue"',
        'not .tags[] == "green"',
        '.tags[] != "green"',
        '.tags contains "red"',
        '.["a b"] == 1',
        '."a b" == 1',
        '.user["name"] == "ada"',
        ".user[] == 36",
        '.note contains "é and \\"quotes\\""',
        '.note startswith "line\\nwith"',
        '.note endswith "quotes\\""',
        'key == "user-17"',
        'key startswith "user-"',
        'key ~ "^user-\\\\d+$"',
        'value ~ "ink"',
        'value contains "price"',
        '.user.name ~ "^a.a$"',
        '.user.name !~ "x"',
        'headers["source"] == "app"',
        'headers["n"] == null',
        'headers["missing"] == null',
        'has(headers["n"]) and not exists(headers["n"])',
        "has(.user.none) and not exists(.user.none)",
        "not has(.user.nothing)",
        "exists(.tags)",
        "length(.tags) == 2",
        "length(.user.name) == 3",
        "length(key) == 7",
        "partition == 3 and offset == 1200",
        "partition in [1, 2, 3]",
        '.user.name in ["bob", "ada"]',
        ".user.none in [1, null]",
        "timestamp == 1777629600000",
        'timestamp >= "2026-05-01T10:00" and timestamp < "2026-05-01T12:00+01:00"',
        ".items[0].price < .items[1].price",
        ".user.age == 36 or .nothing == 1 and .nothing == 2",
        "(.user.age == 1 or .user.age == 36) and .tags",
        "36 == .user.age",
        "not (.user.age == 1)",
        "not not .tags",
        ". == value.user or .user",
    ],
)
def test_it_holds(text: str) -> None:
    assert compiled(text)(SUBJECT)
    assert not compiled(f"not ({text})")(SUBJECT)


@pytest.mark.parametrize(
    "text",
    [
        ".user.age == true",  # a number is no truth value
        ".user.admin == 1",
        '.user.age == "36"',
        '.user.age < "4"',
        ".user < 3",
        ".nothing < 3",
        ".nothing == 3",
        "length(.user.age) == 2",
        '.user contains "name"',
        ".items[7].price == 5",
        ".tags.red",
        '.user.age ~ "3"',
        "key == 17",
        "key.id == 17",  # the key is no JSON
        'headers["source"] == "none"',
        "partition in []",
    ],
)
def test_it_does_not_hold(text: str) -> None:
    assert not compiled(text)(SUBJECT)


@pytest.mark.parametrize(
    ("text", "reason", "position"),
    [
        ("", "the expression is empty", 0),
        (".a = 1", "write == to compare", 3),
        (".a && .b", "write and, or, not", 3),
        ("foo == 1", "foo is not known; for a field of the value write .foo", 0),
        (".a ==", "the end where", 5),
        (".a == 1 2", "2 does not belong here", 8),
        ("(.a", ") is missing after the condition", 3),
        ('.a == "x', "a text without its closing quote", 6),
        ('.a ~ "("', "RE2 knows no regular expression", 5),
        (".a ~ 1", "a regular expression in quotes", 5),
        (".a in [.b]", "a list holds literals only", 7),
        (".a in [1 2]", ", is missing", 9),
        (".a[1", "] is missing after an index", 4),
        (".a[1.5]", "belongs in []", 3),
        (".a.0", "write [0] for an element of a list", 3),
        (".a..b", "a field's name belongs behind the point", 3),
        ('"x"', "a condition is missing", 0),
        ("headers", "[ is missing", 7),
        ("headers[1]", "the name of a header belongs in quotes", 8),
        ('timestamp > "yesterday"', "is not a time", 12),
        ('.a == "\\q"', "an escape that JSON has not", 6),
        (".a == 1; import os", "';' is not known", 7),
        ("__import__('os')", "__import__ is not known", 0),
        ("(" * 60 + ".a" + ")" * 60, "more than 50 brackets", 50),
        ("not " * 60 + ".a", "more than 50 brackets", 200),
        ("length(" * 60 + ".a" + ")" * 60, "more than 50 brackets", 343),
        (".a" * 60, "at most 50 steps", 100),
        ("x" * 5_000, "at most 4096 characters", 0),
        (f".a in [{','.join(['1'] * 501)}]", "at most 500 literals", 1007),
    ],
)
def test_what_is_not_of_the_language_is_refused_with_its_position(text: str, reason: str, position: int) -> None:
    with pytest.raises(BadExpression) as caught:
        compiled(text)
    assert reason in caught.value.reason
    assert caught.value.position == position
    assert str(caught.value).endswith(f"(at character {position + 1})")


@given(st.text(alphabet=" .[]()\"'\\abz019=<>!~,éü\n", max_size=40) | st.text(max_size=40))
def test_any_text_is_an_expression_or_is_refused(text: str) -> None:
    try:
        test = compiled(text)
    except BadExpression as refused:
        assert 0 <= refused.position <= len(text)
    else:
        test(SUBJECT)


@pytest.mark.parametrize(
    "value", [None, b"", b"\xff\xfe", b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b"nul", b"7"]
)
def test_a_value_that_is_no_json_has_no_fields(value: bytes | None) -> None:
    subject = Subject(0, 0, -1, None, value, ())
    assert not compiled('.a == 1 or .a.b[0] or .[] == 1 or key ~ "x"')(subject)
    assert compiled("key == null and not has(.a)")(subject)


# --- against a slow judge ---------------------------------------------------------------------------------------------

NAMES = ["a", "long é"]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([1.5, 2.0])
    | st.sampled_from(["", "x", "xy", "é", "a\\b"])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=8,
)
Steps = list[str | int]
STEP: st.SearchStrategy[str | int] = st.sampled_from([*NAMES, 0, "[]"])
STEPS = st.lists(STEP, min_size=1, max_size=2)


def written(steps: Steps) -> str:
    parts = []
    for step in steps:
        parts.append("[]" if step == "[]" else f"[{step}]" if isinstance(step, int) else f".{json.dumps(step)}")
    return "".join(parts)


def slow_values(value: object, steps: Steps) -> list[object]:
    if not steps:
        return [value]
    step, rest = steps[0], steps[1:]
    inner: list[object] = []
    if step == "[]":
        inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    elif isinstance(value, dict):
        inner = [value[step]] if step in value else []
    elif isinstance(value, list) and isinstance(step, int):
        inner = value[step : step + 1]
    return [found for each in inner for found in slow_values(each, rest)]


def slow_compare(left: object, how: str, right: object) -> bool:
    one, other = (int if type(each) is float else type(each) for each in (left, right))
    same = one is other
    match how:
        case "==":
            return same and left == right
        case "contains":
            if isinstance(left, list):
                return any(slow_compare(each, "==", right) for each in left)
            return isinstance(left, str) and isinstance(right, str) and right in left
        case "startswith":
            return isinstance(left, str) and isinstance(right, str) and left.startswith(right)
    if not same or one not in (int, str):
        return False
    assert isinstance(left, str | int | float)
    before, after = left < right, left > right  # type: ignore[operator]
    return bool({"<": before, "<=": not after, ">": after, ">=": not before}[how])


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> tuple[str, object]:
    """An expression, and the same as a function of the value."""
    form = draw(st.sampled_from(["test", "test", "in", "has", "exists", *(["and", "or", "not"] if depth else [])]))
    if form in ("and", "or"):
        (one, left), (other, right) = draw(conditions(depth - 1)), draw(conditions(depth - 1))
        if form == "and":
            return f"({one} and {other})", lambda value: left(value) and right(value)  # type: ignore[operator]
        return f"({one} or {other})", lambda value: left(value) or right(value)  # type: ignore[operator]
    if form == "not":
        inner, judge = draw(conditions(depth - 1))
        return f"not ({inner})", lambda value: not judge(value)  # type: ignore[operator]
    steps = draw(STEPS)
    path = written(steps)
    if form == "has":
        return f"has({path})", lambda value: bool(slow_values(value, steps))
    if form == "exists":
        return f"exists({path})", lambda value: any(each is not None for each in slow_values(value, steps))
    if form == "in":
        choices = draw(st.lists(SCALARS, max_size=3))
        return f"{path} in {json.dumps(choices)}", lambda value: any(
            slow_compare(each, "==", choice) for each in slow_values(value, steps) or [None] for choice in choices
        )
    how = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "contains", "startswith"]))
    literal = draw(SCALARS)

    def judge_test(value: object) -> bool:
        found = slow_values(value, steps) or ([None] if how in ("==", "!=") else [])
        if how == "!=":
            return not any(slow_compare(each, "==", literal) for each in found)
        return any(slow_compare(each, how, literal) for each in found)

    return f"{path} {how} {json.dumps(literal)}", judge_test


@settings(max_examples=400)
@given(conditions(), JSON, st.booleans())
def test_it_means_what_a_slow_judge_says_and_its_literals_are_necessary(
    made: tuple[str, object], value: object, as_ascii: bool
) -> None:
    text, judge = made
    data = json.dumps(value, ensure_ascii=as_ascii).encode()
    holds = compiled(text)(Subject(0, 0, 0, None, data, ()))
    assert holds == judge(value), text  # type: ignore[operator]
    literals = necessary(parse(text))
    if holds and literals is not None:
        assert any(each in data for each in literals.any) or (literals.escaped and b"\\" in data), text


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ('.user.name == "ada lovelace"', {b"ada lovelace"}),
        ('.name == 1 and .b == "ada"', {b"ada"}),
        ('.level in ["warn", "error"]', {b"warn", b"error"}),
        ('.a == "one" or .b contains "three"', {b"one", b"three"}),
        ('.user == "one" or .b > 3', {b"one", b"b"}),
        ('.a == "one" or .b != "three"', None),
        ('key == "k1"', {b"k1"}),
        ('headers["trace"] == "7"', {b"trace"}),
        (".price > 10", {b"price"}),
        ("not .a", None),
        (".a == null", None),
        ("offset > 10", None),
        ('value ~ "x+"', None),
        (".a == .b", None),
    ],
)
def test_the_literals_of_an_expression(text: str, literals: set[bytes] | None) -> None:
    found = necessary(parse(text))
    assert (None if found is None else set(found.any)) == literals


# --- masking ----------------------------------------------------------------------------------------------------------


def test_fields_are_masked_wherever_they_are() -> None:
    card = {"number": "4111", "name": "Ada"}
    value = {"card": card, "items": [{"price": 1}, {"price": 2}, {}], "tags": ["a", "b"]}
    paths = masked_paths([".card.number", ".items[].price", ".tags[0]", ".nothing.here", ".card.number.deeper"])
    assert mask(value, paths) == {
        "card": {"number": "***", "name": "Ada"},
        "items": [{"price": "***"}, {"price": "***"}, {}],
        "tags": ["***", "b"],
    }
    assert card["number"] == "4111"
    assert mask(value, masked_paths(["."])) == "***"
    with pytest.raises(BadExpression, match="begins with a point"):
        masked_paths(["card"])
    with pytest.raises(BadExpression, match="does not belong here"):
        masked_paths([".card == 1"])
