"""The controller on this node, the way to the active one, and a broker's registration with it (KIP-631)."""
