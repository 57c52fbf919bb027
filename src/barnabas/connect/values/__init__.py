"""Keys and values between bytes and what connectors work with."""
