"""What a node does when nobody asks: timers, retention, compaction, expiry."""
