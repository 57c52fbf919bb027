"""What was asked for makes no sense: one line and the way out. Each tool shows it in its own way."""


class Unusable(Exception):
    def __init__(self, message: str, way_out: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.way_out = way_out
