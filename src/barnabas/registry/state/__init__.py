"""What the registry knows, as the records of `_schemas` make it, and what a request changes of it. Pure.

names.py      contexts and subjects: `:.context:subject`
values.py     a stored schema, its references, metadata and rules; the GUID of one
records.py    the records of the topic in Confluent's format, bytes <-> values
contents.py   everything, built by applying records in the order of the log
questions.py  what the REST API asks of it
deciding/     a request to change something -> the records to append, or why not; nothing is changed by that
"""
