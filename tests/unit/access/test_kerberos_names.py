"""Users behind Kerberos principals."""

import pytest

from barnabas.core.access.kerberos_names import KerberosNames
from barnabas.core.access.principals import BadRule

REALM = "EXAMPLE.ORG"


@pytest.mark.parametrize(
    ("rules", "principal", "user"),
    [
        ("DEFAULT", "alice@EXAMPLE.ORG", "alice"),
        ("DEFAULT", "kafka/host@EXAMPLE.ORG", "kafka"),
        ("DEFAULT", "alice@ELSEWHERE.ORG", None),
        ("DEFAULT", "alice", "alice"),
        ("DEFAULT", "@EXAMPLE.ORG", None),
        ("DEFAULT", "a/b/c@EXAMPLE.ORG", None),
        ("RULE:[1:$1](App\\..*)s/App\\.(.*)/$1/g,DEFAULT", "App.orders@EXAMPLE.ORG", "orders"),
        ("RULE:[2:$1](App\\..*)s/App\\.(.*)/$1/g,DEFAULT", "App.orders/h@EXAMPLE.ORG", "orders"),
        ("RULE:[2:$1@$0](kafka@.*)s/@.*//", "kafka/host@EXAMPLE.ORG", "kafka"),
        ("RULE:[2:$1@$0](kafka@.*)s/@.*//", "kafka@EXAMPLE.ORG", None),
        ("RULE:[1:$1]/L", "Alice@EXAMPLE.ORG", "alice"),
        ("RULE:[1:$1]/U", "Alice@EXAMPLE.ORG", "ALICE"),
        ("RULE:[1:$1]s/l/-/", "allice@EXAMPLE.ORG", "a-lice"),
        ("RULE:[1:$1]s/l/-/g", "allice@EXAMPLE.ORG", "a--ice"),
        ("RULE:[1:$1@$0]", "alice@EXAMPLE.ORG", None),  # what is left is no user
        ("RULE:[1:$1](bob),DEFAULT", "alice@EXAMPLE.ORG", "alice"),
    ],
)
def test_the_first_rule_that_applies_gives_the_user(rules: str, principal: str, user: str | None) -> None:
    assert KerberosNames(rules.split(","), REALM).user(principal) == user


@pytest.mark.parametrize(
    "rule", ["default", "RULE:", "RULE:[1:$2]", "RULE:[3:$1]", "RULE:[1:$1](*)", "RULE:[1:$1]s/a/$1/"]
)
def test_a_rule_that_cannot_be_read_is_refused(rule: str) -> None:
    with pytest.raises(BadRule):
        KerberosNames([rule], REALM)
