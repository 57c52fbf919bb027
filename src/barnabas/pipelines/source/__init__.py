"""Reading topics into Spark: `format("barnabas")`, batch and streaming.

The driver plans (options.py, cluster.py, planning.py, admission.py, filters.py), the executors read (fetching.py,
decoding.py, columns.py), and two small classes make Spark's interface of it (batch.py, stream.py).
"""
