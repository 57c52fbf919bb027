"""How a run is doing: rows, lags and results, for the screen, for `status` and for the summary."""
