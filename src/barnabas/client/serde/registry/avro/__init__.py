"""Avro: by fastavro; schemas from type hints."""
