"""`barnabas mirror`: active-active between clusters."""
