"""Confluent's REST API.

http.py       what every request passes: bounds, errors as JSON, the table of routes
request.py    a request taken apart: path, query, body
contexts.py   /contexts/{context}/... becomes the same path with names in that context
routes.py     the table
answers.py    what entities look like as JSON
subjects.py, schemas.py, settings.py, compatibility.py, meta.py   the handlers
changing.py   a change is decided here, or goes on to the instance that writes
"""
