"""The pytest fixture `barnabas_node`: a fresh node for each test that asks for one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from barnabas.testing.node import RunningNode


@pytest.fixture
def barnabas_node() -> "Iterator[RunningNode]":
    from barnabas.testing.node import running_node  # imported only when used: every pytest run loads this plugin

    with running_node() as node:
        yield node
