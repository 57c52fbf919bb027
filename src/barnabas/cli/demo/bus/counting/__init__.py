"""What has arrived where, while it runs and at the end."""
