"""What all clients share: connecting, settings, exit and fork."""
