"""Transactions of the producers."""
