"""A listener with OAUTHBEARER starts only when it is said whose tokens count, and by Kafka's names."""

from __future__ import annotations

import pytest

from barnabas.model.errors import KafkaError
from barnabas.model.settings import Settings
from barnabas.model.settings.listener_security import listener_security
from barnabas.model.settings.oauth import OAuthSettings
from barnabas.model.settings.unkept import UNSECURED, VALIDATORS, refuse_access_control

GOOD = {
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "sasl.oauthbearer.jwks.endpoint.url": "https://provider/jwks",
    "sasl.oauthbearer.expected.issuer": "https://provider",
    "sasl.oauthbearer.expected.audience": "kafka,other",
}
HANDLER = "sasl.server.callback.handler.class"
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def oauth(settings: dict[str, str]) -> OAuthSettings:
    found = listener_security(Settings(settings), "L", "SASL_PLAINTEXT").oauth
    assert found is not None
    return found


def test_what_it_is_made_of() -> None:
    found = oauth(GOOD | {"listener.name.l.oauthbearer.sasl.oauthbearer.sub.claim.name": "client_id"})
    assert (found.issuer, found.audience, found.subject_claim) == ("https://provider", ("kafka", "other"), "client_id")
    assert found.skew_seconds == 30 and not found.unsecured
    found = oauth(GOOD | {"listener.name.l.sasl.oauthbearer.expected.issuer": "x", "listener.name.l." + HANDLER: ""})
    assert found.issuer == "x"


@pytest.mark.parametrize("handler", VALIDATORS)
@pytest.mark.parametrize("prefix", ["", "listener.name.l.", "listener.name.l.oauthbearer."])
def test_kafkas_classes_are_known_by_their_names(prefix: str, handler: str) -> None:
    settings = GOOD | {prefix + HANDLER: handler}
    refuse_access_control(Settings(settings))
    assert not oauth(settings).unsecured


@pytest.mark.parametrize("name", [name for name in GOOD if "oauthbearer" in name])
def test_nothing_that_is_needed_may_be_missing(name: str) -> None:
    with pytest.raises(KafkaError, match=f"listener L: it offers OAUTHBEARER, but {name} is not set"):
        oauth({key: value for key, value in GOOD.items() if key != name})


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({HANDLER: "com.example.Mine"}, "com.example.Mine: no Java class can be loaded"),
        ({"sasl.oauthbearer.jwt.validator.class": "com.example.Mine"}, "no Java class can be loaded"),
        ({"sasl.oauthbearer.jwks.endpoint.url": "ftp://x/y"}, "is no http, https or file URL"),
        ({"sasl.oauthbearer.jwks.endpoint.url": "https:///y"}, "is no http, https or file URL"),
        (
            {"listener.name.l.oauthbearer.sasl.jaas.config": f'{MODULE} unsecuredValidatorRequiredScope="x";'},
            "the option unsecuredValidatorRequiredScope of its JAAS line is not served",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused(changed: dict[str, str], words: str) -> None:
    with pytest.raises(KafkaError) as refused:
        oauth(GOOD | changed)
    assert words in refused.value.message and "\n" not in refused.value.message


def test_tokens_without_a_signature_only_where_they_are_asked_for() -> None:
    assert oauth({"sasl.enabled.mechanisms": "OAUTHBEARER", HANDLER: UNSECURED}).unsecured


@pytest.mark.parametrize(
    "settings",
    [
        {HANDLER: "com.example.Ldap"},
        {"listener.name.l.plain." + HANDLER: "com.example.Ldap"},
        {"listener.name.l.plain." + HANDLER: VALIDATORS[0]},
    ],
)
def test_a_class_that_decides_about_logins_is_not_passed_over(settings: dict[str, str]) -> None:
    with pytest.raises(KafkaError, match="asks for access control, which this release does not have"):
        refuse_access_control(Settings(settings))
