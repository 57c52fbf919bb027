"""The server's side of SASL, without I/O: each mechanism is a small machine that is given a client's messages.

    server = ScramServer(SCRAM["SCRAM-SHA-512"], credentials, nonce)
    reply, identity = server.step(message)      # identity is None until the client has proved who it is

A client that cannot prove it is refused with LoginRefused, whose text goes to the client: it never says whether the
user or the password was wrong. Secrets are compared in constant time.
"""
