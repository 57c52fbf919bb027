"""What a schema is: text that is parsed, written in one canonical form, and compared with another version of itself."""
