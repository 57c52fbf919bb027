"""Whole files of a folder as a source, files of lines as a sink."""
