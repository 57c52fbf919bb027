"""Links from other clusters: the leaders of linked topics follow the source's leaders, one broker keeps topics and
groups like those of the source."""
