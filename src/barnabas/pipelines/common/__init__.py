"""What several pipelines share: how events come in disorder, which of them count, and the pages that reports are."""
