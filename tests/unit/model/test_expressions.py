"""What is said about a regular expression that RE2 cannot use."""

import pytest
import re2

from barnabas.model.expressions import expression_problem


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("ord(", "a ( is not closed"),
        ("[a", "a [ is not closed"),
        ("a)", "a ) has no ( before it"),
        ("a**", "** repeats a repetition"),
        ("*", "* has nothing before it to repeat; anything at all is .*"),
        ("a{2000}", "{2000} repeats more than 1000 times"),
        (r"\1", r"\1 is no escape that RE2 knows"),
        ("(?P<n", "(?P<n is no named group"),
        ("(?=a)", "(?= is not known to RE2: it looks neither ahead nor behind"),
        ("[z-a]", "z-a is no class of characters"),
        ("a\\", "a \\ at the end has nothing to escape"),
    ],
)
def test_it_is_said_in_plain_words(expression: str, said: str) -> None:
    options = re2.Options()
    options.log_errors = False
    with pytest.raises(re2.error) as refused:
        re2.compile(expression, options)
    assert expression_problem(refused.value) == said


def test_what_is_not_known_is_said_as_it_is() -> None:
    assert expression_problem(re2.error(b"something new: x")) == "something new: x"
    assert expression_problem(re2.error()) == ""
