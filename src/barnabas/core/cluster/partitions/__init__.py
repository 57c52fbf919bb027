"""The replicas of partitions: where they live, which of them lead and are in sync, how they move."""
