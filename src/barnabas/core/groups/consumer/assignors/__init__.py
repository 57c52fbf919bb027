"""Server-side assignors: who should have which partition, given who wants which topic.

An assignor is a pure function of the members (their topics and what they have been promised so far) and the topics'
partition counts. Its answer names every member, and every partition of every topic somebody wants exactly once.
"""

from collections.abc import Callable, Mapping

from barnabas.core.groups.consumer.assignors.range import assign_range
from barnabas.core.groups.consumer.assignors.spec import Assignment, MemberSpec
from barnabas.core.groups.consumer.assignors.uniform import assign_uniform

Assignor = Callable[[Mapping[str, MemberSpec], Mapping[bytes, int]], Assignment]

ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}

__all__ = ["ASSIGNORS", "Assignment", "Assignor", "MemberSpec"]
