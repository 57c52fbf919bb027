"""Fetch: sessions, reading slices of segments, waiting for more, and the followers' side of it."""
