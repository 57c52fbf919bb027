"""Objects of S3 and of stores that speak its protocol: written by partition and hour, read back into a topic."""
