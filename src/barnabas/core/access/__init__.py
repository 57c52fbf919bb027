"""Access control, pure: rules (ACLs), what they match, and the decision with its reason."""
