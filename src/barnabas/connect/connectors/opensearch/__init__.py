"""OpenSearch and Elasticsearch, by bulk requests over HTTP."""
