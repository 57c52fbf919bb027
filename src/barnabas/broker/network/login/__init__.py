"""How a client logs in on a listener that asks for it (SASL, KIP-43, KIP-152, KIP-368, KIP-306).

`listener_login.py` is what all connections of a listener share, `conversation.py` one connection's login, and
`failed_logins.py` what slows down whoever guesses passwords.
"""
