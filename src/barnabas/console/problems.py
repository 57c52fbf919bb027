"""What a request cannot be answered with, as one line that the page shows, with the way out."""

from barnabas.link.codes import name_of


class Problem(Exception):
    def __init__(self, message: str, way_out: str = "", status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.way_out = way_out
        self.status = status


class NotAllowed(Problem):
    def __init__(self, message: str, way_out: str = "") -> None:
        super().__init__(message, way_out, 403)


class NotFound(Problem):
    def __init__(self, message: str, way_out: str = "") -> None:
        super().__init__(message, way_out, 404)


class SignInFirst(Problem):
    def __init__(self, message: str = "sign in first") -> None:
        super().__init__(message, "", 401)


def refused(code: int, doing: str, message: str | None = None) -> Problem:
    """The cluster's own answer: an error code, and its text where it has one."""
    return Problem(f"{doing}: {message or name_of(code)}", status=409 if message else 400)
