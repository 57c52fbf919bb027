"""What RE2 says about a regular expression that it cannot use, for whoever typed it."""

_IN_WORDS = (
    ("missing )", "a ( is not closed"),
    ("missing ]", "a [ is not closed"),
    ("unexpected )", "a ) has no ( before it"),
    ("bad repetition operator", "{what} repeats a repetition"),
    ("no argument for repetition operator", "{what} has nothing before it to repeat; anything at all is .*"),
    ("invalid repetition size", "{what} repeats more than 1000 times"),
    ("invalid escape sequence", "{what} is no escape that RE2 knows"),
    ("invalid named capture group", "{what} is no named group"),
    ("invalid perl operator", "{what} is not known to RE2: it looks neither ahead nor behind"),
    ("invalid character class", "{what} is no class of characters"),
    ("trailing \\", "a \\ at the end has nothing to escape"),
    ("pattern too large", "it takes too much memory"),
)


def expression_problem(problem: Exception) -> str:
    """Of re2.error, whose text is bytes in some versions."""
    told = problem.args[0] if problem.args else str(problem)
    text = told.decode(errors="replace") if isinstance(told, bytes) else str(told)
    kind, _, what = text.partition(": ")
    return next((words.format(what=what or "it") for begin, words in _IN_WORDS if kind.startswith(begin)), text)
