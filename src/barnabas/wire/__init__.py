"""Bytes <-> messages, pure: what stands on a socket or in a segment file, and nothing of what it means.

From the outside in: `frames` cuts a message out of a connection's buffer, `headers` says which API and version it is,
`apis` whether we serve it, `codec` (or, where speed counts, `produce` and `fetch`) what it says. `batch` sees a record
batch by its header, `validate` judges one a client sent, `records` and `deep` open it, `compression` unpacks it.
"""
