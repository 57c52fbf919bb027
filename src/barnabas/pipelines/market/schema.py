"""The columns of the two topics that are read, and how long a report may take and still count."""

TRADE = """id STRING NOT NULL, symbol STRING NOT NULL, time TIMESTAMP NOT NULL, price DECIMAL(12,4) NOT NULL,
           size BIGINT NOT NULL"""
QUOTE = """symbol STRING NOT NULL, seq BIGINT NOT NULL, time TIMESTAMP NOT NULL, bid DECIMAL(12,4) NOT NULL,
           ask DECIMAL(12,4) NOT NULL, bid_size BIGINT, ask_size BIGINT"""

BAR_MS = 60_000
ALLOWED_MS = 30_000

# Prices are counted in ten-thousandths, so that every sum is exact.
TICKS = 10_000
