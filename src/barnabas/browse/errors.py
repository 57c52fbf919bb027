"""Why records could not be read or written, as one line for a person."""

from barnabas.model.errors import ErrorCode


class BrowseError(Exception):
    """`code` is the Kafka error behind it, UNKNOWN_SERVER_ERROR where there is none."""

    def __init__(self, message: str, code: int = ErrorCode.UNKNOWN_SERVER_ERROR) -> None:
        super().__init__(message)
        self.code = code


class NoSuchTopic(BrowseError):
    """The topic, or the partition of it, is not there."""


class NoSuchRecord(BrowseError):
    """The log has no record at this offset: it is deleted, compacted away, a marker, or not written yet."""


class NotAllowed(BrowseError):
    """The person may not do this."""


class NotInTime(BrowseError):
    """The deadline passed; the message says what was waited for."""
