"""`format("barnabas")` for writing: rows to topics, at least once or exactly once.

    options.py     what a write asks for, checked before anything starts
    columns.py     key, value, headers, topic, partition: which columns there are, and a batch of rows taken apart
    spread.py      which partition a row goes to, for whole columns at once
    login.py       TLS and SASL
    link.py        one connection; cluster.py: leaders, coordinators and patience
    producer.py    rows -> record batches; sending.py: batches -> the leaders, in order, each batch once
    prepared.py    an open transaction; transactions.py: what is asked of its coordinator
    ledger.py      the topic of decisions: which micro-batch of which query is committed
    settle.py      the order in which a micro-batch is decided and completed: read this one first
    tasks.py       what runs on an executor; writer.py: what Spark calls

The protocol is spoken by hand, because an exactly-once sink has to leave a transaction open in one process and end it
in another, and no client library does that.
"""
