"""Rows as values with a schema of a registry: the id stands before the data, as Confluent's serializers put it.

settings.py  the options
choosing.py  which schema, decided and registered where the query is made
avro.py, json_schema.py, protobuf.py  the schema that columns have, and the bytes of a row
encoder.py   an Arrow batch to values, on an executor
"""
