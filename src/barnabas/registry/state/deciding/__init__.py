"""What a request changes: the records to append, and the answer when they have been read back.

A decision is made on the contents as they are and changes nothing. What takes long (parsing, comparing) is separate
from what looks at the contents, so that a thread can do it.
"""
