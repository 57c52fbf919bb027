"""Which events of the audit trail a person asks for, in which words."""

from __future__ import annotations

import pytest

from barnabas.cli.audit.command import audit
from barnabas.cli.common.failure import USAGE, Failure
from barnabas.core.access.audit import event as nodes
from barnabas.operate.access.audit_events import KINDS, Event, Wanted, check_operation

EVENT: Event = {"event": "administration", "operation": "ALTER_CONFIGS", "api": "IncrementalAlterConfigs"}


def test_the_kinds_of_events_are_those_of_the_nodes() -> None:
    written = (nodes.ACCESS, nodes.LOGIN, nodes.CONNECTION, nodes.ADMINISTRATION, nodes.DATA, nodes.AUDIT)
    assert written == KINDS


@pytest.mark.parametrize(
    "word", ["alter-configs", "ALTER_CONFIGS", "administration", "IncrementalAlterConfigs", "incremental_alter_configs"]
)
def test_an_operation_is_found_by_each_of_its_words(word: str) -> None:
    check_operation(word)
    assert Wanted(operation=word).has(EVENT)
    assert not Wanted(operation="alter").has(EVENT)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("wirte", "no event has the operation 'wirte'. Did you mean write? There are read, write, "),
        ("logins", "Did you mean login?"),
        ("createtopic", "Did you mean CreateTopics?"),
        ("bananas", "no event has the operation 'bananas'. There are read, write, "),
    ],
)
def test_a_word_that_no_event_has_is_refused_before_a_node_is_asked(word: str, told: str) -> None:
    with pytest.raises(Failure) as refused:
        audit(operation=word, bootstrap="127.0.0.1:1")  # nobody listens there
    assert told in refused.value.line() and refused.value.code == USAGE
