"""The one exception of the wire: bytes that do not say what their format promises.

A `ProtocolError` never carries a Kafka code, because whoever sent such bytes cannot be trusted to read an answer; the
broker closes the connection with one log line. Where a code does exist (a batch inside a well-formed Produce), the room
raises `KafkaError` instead, see validate.py.
"""


class ProtocolError(Exception):
    """These bytes are not a message of the protocol."""
