"""Clients of two linked clusters."""
