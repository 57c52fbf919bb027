"""The node's own small HTTP server for /metrics and /health: GET and HEAD, nothing else (metrics.listeners).

`request.py` reads the head of a request, `connection.py` is one client, `acceptor.py` takes connections in and limits
them, `login.py` checks passwords, `endpoint.py` puts them together and says what each path answers.
"""
