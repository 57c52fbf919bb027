"""Reads the metrics of nodes, for whoever shows them (`barnabas top`, the console): finds, scrapes and parses them."""
