"""What /metrics says, a module for each area of series.py: generators of pieces of text, made when somebody asks.

A generator yields often, if only an empty piece, so that the loop is not held (scrape.py).
"""
