"""Produce by hand: where the records lie in a request, and the usual answers."""
