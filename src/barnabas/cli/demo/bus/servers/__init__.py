"""The servers of other projects that the story needs: each found or fetched, started, and stopped again."""
