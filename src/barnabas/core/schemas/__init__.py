"""Which schema ids are registered, as far as a broker has to know it."""
