"""What a seed makes of a world: of one node, of several, and of worlds that aim at one promise each."""
