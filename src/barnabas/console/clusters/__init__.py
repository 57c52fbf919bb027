"""Connections to clusters as a person, what is sampled of them, and its history."""
