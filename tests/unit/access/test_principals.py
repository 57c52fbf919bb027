"""The names of certificates as Java writes them (compared with javax.security.auth.x500.X500Principal), and rules."""

import pytest

from barnabas.core.access.principals import BadRule, PrincipalRules, distinguished_name


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ([[("countryName", "US")], [("organizationName", "x")], [("commonName", "n")]], "CN=n,O=x,C=US"),
        ([[("commonName", 'a,b=c+d<e>f#g;h\\i"j')]], 'CN=a\\,b\\=c\\+d\\<e\\>f\\#g\\;h\\\\i\\"j'),
        ([[("organizationalUnitName", "b"), ("commonName", "a")]], "OU=b+CN=a"),
        ([[("commonName", "n")], [("emailAddress", "a@b.c")]], "1.2.840.113549.1.9.1=#16056140622e63,CN=n"),
        ([[("serialNumber", "5")]], "2.5.4.5=#130135"),
        ([[("commonName", "ü ")]], "CN=ü\\ "),
    ],
)
def test_distinguished_names(subject: list[list[tuple[str, str]]], name: str) -> None:
    assert distinguished_name(subject) == name


@pytest.mark.parametrize(
    ("rules", "name", "principal"),
    [
        ("DEFAULT", "CN=a,O=b", "CN=a,O=b"),
        ("RULE:^CN=([^,]+),OU=nodes.*$/$1/,DEFAULT", "CN=Node-1,OU=nodes,O=x", "Node-1"),
        ("RULE:^CN=([^,]+),OU=nodes.*$/$1/L, DEFAULT", "CN=Node-1,OU=nodes,O=x", "node-1"),
        ("RULE:^CN=([^,]+),OU=nodes.*$/$1/U", "CN=Node-1,OU=nodes,O=x", "NODE-1"),
        ("RULE:^CN=([^,]+),OU=nodes.*$/$1@$1/,DEFAULT", "CN=a,OU=other", "CN=a,OU=other"),
        ("RULE:^CN=([^,]+),OU=nodes$/$1/", "CN=a,OU=other", None),
        ("RULE:CN=(.*?)(,OU=.*)?/$1/", "CN=alice,OU=x", "alice"),
    ],
)
def test_rules(rules: str, name: str, principal: str | None) -> None:
    assert PrincipalRules(rules).principal(name) == principal


@pytest.mark.parametrize("rules", ["nonsense", "RULE:(/x/", "RULE:a", "DEFAULT;DEFAULT", "RULE:^CN=(.*)$/$2/"])
def test_bad_rules(rules: str) -> None:
    with pytest.raises(BadRule):
        PrincipalRules(rules)
