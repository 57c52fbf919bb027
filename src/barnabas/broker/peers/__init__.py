"""The other brokers of the cluster: connections to them, who has probably died, who left a moment ago."""
