"""Connectors on Spark: the same positions, transactions, groups and writers, in tasks of Spark instead of threads.

The driver is a member of the connector's group like any worker, and has the partitions that the group gives it. What it
owns is worked on in rounds: a round is a job of Spark with one task, which reads splits or writes partitions for a few
seconds by the very code of the process engine, and answers where they stand. So a connector moves from one engine to
the other, or runs on both, and goes on where it was; nothing is kept in a checkpoint of Spark.

`session.py` starts Spark and runs rounds, `source_task.py` and `sink_task.py` are the driver's side, and
`source_round.py` and `sink_round.py` what happens in a task. `asked.py` has what the two say to each other: JSON, with
secrets as the references that they are in the definition.
"""
