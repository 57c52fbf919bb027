"""The versions that a node speaks (ApiVersions), and the newest that both sides know."""

from collections.abc import Mapping

from barnabas.link.errors import UnknownApi
from barnabas.wire.apis import SERVED

NONE_IN_COMMON = -1


class NodeVersions:
    """`spoken`: API key -> lowest and highest version."""

    __slots__ = ("_spoken",)

    def __init__(self, spoken: Mapping[int, tuple[int, int]]) -> None:
        self._spoken = spoken

    def newest(self, api_key: int, at_most: int | None = None) -> int:
        """The newest version both know, not above `at_most`; NONE_IN_COMMON where there is none."""
        api = SERVED[api_key]
        lowest, highest = self._spoken.get(api_key, (0, NONE_IN_COMMON))
        version = min(highest, api.max_version if at_most is None else at_most)
        return version if version >= max(lowest, api.min_version) else NONE_IN_COMMON

    def must(self, api_key: int, at_most: int | None = None) -> int:
        """The same, or UnknownApi."""
        version = self.newest(api_key, at_most)
        if version == NONE_IN_COMMON:
            raise UnknownApi(f"the node does not know {SERVED[api_key].name.title().replace('_', '')}")
        return version
