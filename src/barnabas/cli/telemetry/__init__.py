"""`barnabas telemetry`: which metrics clients push."""
