"""The data pipelines: topics in Spark, through PySpark.

    from barnabas.pipelines import session

    spark = session()
    orders = spark.readStream.format("barnabas").option("subscribe", "orders").load()

Nothing here loads pyspark before it is used.
"""

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.exactly_once import exactly_once
from barnabas.pipelines.progress import offsets_behind
from barnabas.pipelines.session import register, session

__all__ = ["PipelineError", "exactly_once", "offsets_behind", "register", "session"]
