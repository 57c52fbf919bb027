"""Logins with delegation tokens: what SCRAM checks a token's HMAC by, made when a token is first used here.

It takes some milliseconds (thousands of rounds of hashing), so it is kept. A token that has expired is like one that
does not exist, and a client cannot tell that from one that does: salt and rounds are the same.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping

from barnabas.broker.clock import wall_ms
from barnabas.core.access.credentials import DelegationToken, ScramCredential
from barnabas.core.access.delegation_tokens import (
    TokenCredential,
    split_principal,
    token_password,
)
from barnabas.core.access.sasl.scram import (
    ITERATIONS_DEFAULT,
    ScramMechanism,
    credential,
    salt_of,
    salted_password,
)
from barnabas.model.limits import TOKEN_CREDENTIALS_CACHED


class TokenLogins:
    """`secret` is `delegation.token.secret.key`; `secret_of_salts` is that of users that do not exist."""

    def __init__(self, secret: str, secret_of_salts: Callable[[], bytes]) -> None:
        self._secret = secret
        self._secret_of_salts = secret_of_salts
        self._made: OrderedDict[tuple[str, int], ScramCredential] = OrderedDict()

    def find(
        self, tokens: Mapping[str, DelegationToken], token_id: str, mechanism: ScramMechanism
    ) -> TokenCredential | None:
        token = tokens.get(token_id)
        if token is None or token.has_expired(wall_ms()):
            self._made.pop((token_id, mechanism.number), None)
            return None
        user = split_principal(token.owner)[1]
        return TokenCredential(user, token.expires_ms, self._credential(token_id, mechanism))

    def _credential(self, token_id: str, mechanism: ScramMechanism) -> ScramCredential:
        key, salt = (token_id, mechanism.number), salt_of(self._secret_of_salts(), mechanism, token_id)
        found = self._made.pop(key, None)
        if found is None or found.salt != salt:
            password = token_password(self._secret, token_id)
            salted = salted_password(mechanism, password, salt, ITERATIONS_DEFAULT)
            found = credential(mechanism, salt, salted, ITERATIONS_DEFAULT)
        self._made[key] = found
        if len(self._made) > TOKEN_CREDENTIALS_CACHED:
            self._made.popitem(last=False)
        return found
