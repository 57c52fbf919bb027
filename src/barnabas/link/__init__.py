"""The Kafka client of our own: what brokers, command line, pipelines and simulator speak to a node with.

No module of the first group does I/O; bytes, answers and time are arguments, so every rule is tested without a socket.

    exchange.py          one connection: frames, correlation ids, requests in flight, answers cut out of what came
    versions.py          the versions of each API that a node speaks, and the newest that both sides know
    opening.py, sasl.py  what is said before the first request: ApiVersions, SASL handshake and authentication
    login_settings.py    TLS context and credentials from the settings of a client
    codes.py             error codes: which may be tried again, and what has to be looked up first
    view.py              the nodes of a cluster, who leads a partition, who coordinates a key
    transactions.py      what answers say about transactions, which of them hang, what ends one
    errors.py            how a request may end without an answer

The drivers only move bytes: asyncio_driver.py (brokers; the simulator, on its own network and clock; async_nodes.py
keeps such a connection to each node of a cluster) and
blocking_driver.py (threads with deadlines; nodes.py keeps such a connection to each node).
"""
