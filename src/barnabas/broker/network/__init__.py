"""Between a client's socket and the handler of its request."""
