"""What goes wrong in a pipeline, as one clear line."""


class PipelineError(Exception):
    """One line for the person at the terminal: what happened, and the way out."""
