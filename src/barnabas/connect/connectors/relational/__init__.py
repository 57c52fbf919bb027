"""What sinks into relational databases share: from records to columns, tables that follow the records, and the next
offset in the same transaction as the rows."""
