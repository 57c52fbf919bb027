"""Values whose schema is in a schema registry, for reading and for writing.

    .option("valueFormat", "avro").option("registry", "http://127.0.0.1:8081")

options.py  the options `registry`, `registry.*`, `valueSubject`, `schemaVersion`
client.py   the registry's client, one in a process
reader.py   the schema that a read is made with, fetched where the query is made

What decodes is in source/values/registry.py, what encodes in sink/values.
"""
