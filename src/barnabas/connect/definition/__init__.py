"""What a connector is to do, as a person writes it: YAML in, a checked definition out."""
