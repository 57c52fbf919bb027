"""Topics and groups of another cluster, mirrored in the conventions of MirrorMaker 2: both sides may write."""
