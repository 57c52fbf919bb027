"""Groups: who reads what, how far behind in records and in seconds; moving and deleting them.

listing.py   the list, and one group with its members and partitions
plan.py      what a reset would do, without asking anybody
moving.py    a reset: its preview, and doing exactly what was previewed
removing.py  deleting a group, or what it has committed in a topic
"""

from barnabas.console.pages.groups.listing import list_groups, one_group
from barnabas.console.pages.groups.moving import preview, reset
from barnabas.console.pages.groups.removing import delete_group, delete_offsets
from barnabas.console.web.calls import Route

ROUTES = [  # a group's name may have slashes, so it stands in the query: ?group=NAME
    Route("GET", "/groups", list_groups),
    Route("GET", "/group", one_group),
    Route("GET", "/group/reset", preview),
    Route("POST", "/group/reset", reset, change="reset a group"),
    Route("DELETE", "/group", delete_group, change="delete a group"),
    Route("DELETE", "/group/offsets", delete_offsets, change="delete a group's offsets"),
]
