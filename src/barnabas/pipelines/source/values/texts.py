"""How times stand in JSON. One rule for the two decoders: this source's own, and the SQL expressions of a pipeline.

A time is ISO 8601 text. A number is refused: Spark would take it for seconds, most who write one mean milliseconds, and
a time that is a thousand times too large moves a stream's watermark to a far year. Milliseconds are taken on request.
"""

from __future__ import annotations

# The same in Python and in Java; the whole text has to match.
DATE = r"\d{4}-\d\d-\d\d"
TIMESTAMP = DATE + r"([T ]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?(Z|[+-]\d\d(:?\d\d)?)?)?"
MILLISECONDS = r"-?\d{1,15}"
MILLISECONDS_RANGE = (-62_135_596_800_000, 253_402_300_799_999)  # of the years 1 to 9999
FLOAT_MAX = 3.4028234663852886e38

ISO, WITH_MILLISECONDS = TIMESTAMPS = ("iso", "milliseconds")
