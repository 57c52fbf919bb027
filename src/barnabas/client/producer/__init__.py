"""Producers, for threads and for asyncio."""
