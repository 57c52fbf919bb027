"""A schema registry with Confluent's REST API: `barnabas registry`, a process of its own, or `barnabas up --registry`.

schemas/  what a schema is and which changes of it are compatible, pure; a folder each for Avro, JSON Schema, Protobuf
state/    subjects, versions, ids, levels and modes, as the records of the topic `_schemas` make them, pure
store/    that topic: read it to its end, be the one instance that writes it, hand writes on to that instance
rest/     the REST API over them
"""
