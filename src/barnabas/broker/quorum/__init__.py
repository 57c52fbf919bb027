"""Drives the quorum's machine (core/raft) on real disks and connections."""
