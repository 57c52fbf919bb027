"""Memory that is ready to be written to, for rows that fill the page cache.

A virtual machine may give memory that is free back to its host. The first use of such a page then costs whoever writes
to it: measured 0.5 s of CPU a GB with memory that was freed a moment ago, 2.4 to 3.3 s a GB with memory that had been
given back. Which of the two a run meets is chance and says nothing about a server, so the memory is used once before.
"""

from __future__ import annotations

import mmap

PAGE = mmap.PAGESIZE
MOST_BYTES = 2 << 30


def use_once(size: int) -> None:
    """Write to so much memory, and free it again."""
    size = min(MOST_BYTES, size) // PAGE * PAGE
    if size:
        with mmap.mmap(-1, size) as memory:
            for place in range(0, size, PAGE):
                memory[place] = 1
