"""What a running node counts about itself: plain integers, read by `doctor` and by metrics."""
