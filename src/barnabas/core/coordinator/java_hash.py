"""Which partition of a coordinator's topic holds a key: the hash that Kafka takes."""


def java_hash(text: str) -> int:
    """Java's String.hashCode, made non-negative as Kafka does it."""
    value = 0
    data = text.encode("utf-16-be", "surrogatepass")
    for i in range(0, len(data), 2):
        value = (31 * value + (data[i] << 8 | data[i + 1])) & 0xFFFFFFFF
    if value >= 1 << 31:
        value = (1 << 32) - value
    return 0 if value == 1 << 31 else value
