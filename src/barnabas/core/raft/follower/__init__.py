"""What a follower of the quorum does: fetching the log or a snapshot, and telling its leader about itself."""
