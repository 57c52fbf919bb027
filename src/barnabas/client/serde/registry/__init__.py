"""Keys and values whose schema is in a registry: Confluent's, or `barnabas registry`.

    registry = Registry("http://127.0.0.1:8081")
    Producer(value_serializer=registry.avro(Order))         # or value_serializer="avro", registry=..., schema=Order
    Consumer("orders", value_deserializer=registry.avro(Order))

connection.py  the HTTP client: kept connections, several addresses, login, TLS
settings.py    its settings by Confluent's names
registry.py    the requests, and a bounded cache of what never changes
subjects.py    under which name a schema is registered
framing.py     how a record says which schema it has: an id before the data, or a GUID in a header
serializer.py  what all formats share, and the way of every record
avro/, json_schema/, protobuf/  the formats
plain.py       any of them to JSON and back, for people: the command line and the console

A schema is asked for once. After that a record costs no request.
"""
