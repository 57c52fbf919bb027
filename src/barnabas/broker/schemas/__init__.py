"""What a broker knows of the schema registry: it follows `_schemas` while one of its topics checks schema ids."""
