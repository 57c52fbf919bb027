"""Fetch by hand: the answer, around records that leave by sendfile, and the request of a follower."""
