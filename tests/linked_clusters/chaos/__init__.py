"""Two clusters of three nodes and a link, a load, and every fault that we know how to make, for as long as asked."""
