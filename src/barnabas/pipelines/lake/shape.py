"""What a record becomes in the table: the logic that may change.

`columns` is a list of SQL expressions over a record's columns (key, value, headers, topic, partition, offset,
timestamp), `where` a condition. Whatever they say, partition, offset and timestamp stay, for they are what a range is
told by, and the folder (`date`, and `hour` if wanted) is made of the timestamp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PLACE = ("partition", "offset", "timestamp")
FOLDERS = {"day": ("date",), "hour": ("date", "hour")}
RAW = "key, value, headers"


@dataclass(frozen=True, slots=True)
class Shape:
    columns: str = RAW
    where: str = ""
    by: str = "day"

    def __post_init__(self) -> None:
        if self.by not in FOLDERS:
            raise PipelineError(f"by={self.by}: it is one of {', '.join(FOLDERS)}")

    @property
    def folders(self) -> list[str]:
        return list(FOLDERS[self.by])

    def applied(self, records: DataFrame) -> DataFrame:
        clock = ["CAST(timestamp AS DATE) AS date", "hour(timestamp) AS hour"][: len(self.folders)]
        try:
            kept = records.where(self.where) if self.where else records
        except Exception as error:
            raise PipelineError(f"where={self.where}: {_first_line(error)}") from error
        try:
            chosen = kept.selectExpr(f"struct({self.columns}) AS _chosen", *PLACE, *clock)
            names = chosen.select("_chosen.*").columns
        except Exception as error:
            raise PipelineError(f"columns={self.columns}: {_first_line(error)}") from error
        taken = {*PLACE, *self.folders} & set(names)
        if taken:
            raise PipelineError(f"columns={self.columns}: {', '.join(sorted(taken))} is there already")
        return chosen.select("_chosen.*", *PLACE, *self.folders)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
