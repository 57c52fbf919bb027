"""Consumers, for threads and for asyncio."""
