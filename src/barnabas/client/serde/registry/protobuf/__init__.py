"""Protobuf: generated classes, or classes made from what the registry has."""
