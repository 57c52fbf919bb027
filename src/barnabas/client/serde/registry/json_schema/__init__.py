"""JSON Schema: texts by msgspec, checked by jsonschema-rs."""
