"""A webhook as a source, requests to a service as a sink."""
