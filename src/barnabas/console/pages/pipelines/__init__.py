"""Pipelines of the machine that the console runs on: how each goes, its dead letters; starting and stopping one.

allowed.py  whether this console may see and start processes of its machine
listing.py  what runs, from what each run tells of itself in its folder
running.py  starting one that ships as a process of its own, and stopping it
"""

from barnabas.console.pages.pipelines.listing import list_pipelines
from barnabas.console.pages.pipelines.running import start, stop
from barnabas.console.web.calls import Route

ROUTES = [
    Route("GET", "/pipelines", list_pipelines),
    Route("POST", "/pipelines/{pipeline}/start", start, change="start a pipeline"),
    Route("POST", "/pipelines/{pipeline}/stop", stop, change="stop a pipeline"),
]
