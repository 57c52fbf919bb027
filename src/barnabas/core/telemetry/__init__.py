"""Metrics that clients push (KIP-714): which client is to push what, whether a push is taken, what is kept of it."""
