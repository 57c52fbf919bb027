"""Orders with the name and the city of their customer, from topic orders to topic orders.enriched, on Spark.

barnabas pipeline run enrich_on_spark.py
"""

from __future__ import annotations

from barnabas.pipelines.framework import Pipeline, Topic
from barnabas.pipelines.framework.context import RunContext

ORDER = "id INT, customer_id INT, item STRING, cents INT, status STRING, ordered_at STRING"
CUSTOMER = "id INT, name STRING, city STRING"


class Enrich(Pipeline):
    name = "enrich"
    summary = "orders with the name and the city of their customer"
    now_summary = "orders with their customer, to orders.enriched"
    reads = (Topic("orders"), Topic("customers", streamed=False))
    writes = (Topic("orders.enriched"),)

    def now(self, context: RunContext) -> None:
        from pyspark.sql import functions as f

        # Customers are read once, when the query starts.
        row = f.from_json(f.col("value").cast("string"), CUSTOMER).alias("c")
        everybody = context.raw_batch("customers").select(row).select("c.id", "c.name", "c.city").collect()
        customers = context.spark.createDataFrame(everybody, CUSTOMER).withColumnsRenamed(
            {"id": "customer_id", "name": "customer"}
        )
        # One task for each partition, and no shuffle: changes of one order stay in their order.
        orders = context.raw_stream("orders", minPartitions=1)
        order = f.from_json(f.col("value").cast("string"), ORDER)
        orders = orders.select("key", f.col("value").isNull().alias("deleted"), order.alias("o"))
        joined = orders.select("key", "deleted", "o.*").join(f.broadcast(customers), "customer_id", "left")
        names = [each for each in joined.columns if each not in ("key", "deleted")]
        value = f.when(~f.col("deleted"), f.to_json(f.struct(*names))).cast("binary")
        context.to_topic(joined.select("key", value.alias("value")), "orders.enriched", "enriched")
