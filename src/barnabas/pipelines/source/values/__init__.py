"""Values decoded into columns: json, avro or protobuf with a schema, and what becomes of those that do not fit.

    .option("valueFormat", "json").option("valueSchema", "user STRING, amount DOUBLE")

settings.py reads the options, one file a format decodes, bad.py says what happens to a bad record.
"""
