"""The topic `_schemas`: everything is read from it, and one instance at a time writes it.

topic.py      made where it is missing: one partition, compacted
reading.py    read to its end, and on from there, by every instance
appending.py  written in transactions of one transactional id: the newest producer of the id fences the others
handing_on.py a request that changes something goes on to the instance that writes
store.py      all of them together; who writes is what the last NOOP record says

There is no election. Whoever has to write and finds nobody who does takes the transactional id; the cluster's epochs
decide between two who do so at once. The one that writes has read to its own NOOP record before it decides anything.
"""
