"""Access tokens of OAuth (JWT, RFC 7519): whether one was signed by a known key, for this cluster, and is valid now.

What is checked, and in this order: the form; the algorithm, which has to be one of ALGORITHMS (so neither "none" nor an
HMAC); the key, which is looked up by its id (`kid`) and has to be of the algorithm's type; the signature; issuer,
audience, times; the subject. A key with an algorithm of its own (`alg`) verifies no other. Keys that are not public
keys for signatures are never taken from a key set.

Kafka does the same (BrokerJwtValidator), but for three things. A token without `kid` is verified only if one key alone
can be meant. A token that was issued in the future, by more than the clock skew, is refused. Kafka reports an unknown
`kid` and fetches keys later; here the login waits for the keys (broker/network/login/jwks.py).
"""

import math
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey
from joserfc.jws import JWSRegistry

from barnabas.core.access.sasl.contract import Identity
from barnabas.model.limits import JWKS_KEYS_MAX, TOKEN_HEADER_MAX_BYTES

ALGORITHMS: dict[str, tuple[str, str | None]] = {  # the type of key, and its curve
    "RS256": ("RSA", None),
    "RS384": ("RSA", None),
    "RS512": ("RSA", None),
    "PS256": ("RSA", None),
    "PS384": ("RSA", None),
    "PS512": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
}
_RSA_BITS_MIN = 2048  # RFC 7518, 3.3
_RSA_BITS_MAX = 8192  # verifying takes a quarter of a millisecond
_SHOWN_CHARS = 100  # of what a stranger has written, in a log
_YEAR_10000 = 253_402_300_800  # a time beyond it is no time

_registry = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)  # providers add fields of their own
_registry.max_header_length = TOKEN_HEADER_MAX_BYTES
_registry.max_signature_length = _RSA_BITS_MAX // 4  # in base64


class BadToken(Exception):
    """Why a token is refused; for the node's log. Has nothing of the token that lets anybody use it."""


class UnknownKey(BadToken):
    """The key that the token names is not in the key set: there may be a newer one."""


class BadKeySet(Exception):
    """What a provider gave is no key set."""


class TokenRules(NamedTuple):
    issuer: str | None
    audience: frozenset[str]  # one of them is enough; empty: any
    subject_claim: str = "sub"
    scope_claim: str = "scope"
    skew_seconds: int = 30


class VerifyingKey(NamedTuple):
    kid: str | None
    kind: str  # RSA or EC
    curve: str | None
    algorithm: str | None  # the only one that it is for
    key: RSAKey | ECKey

    def fits(self, algorithm: str) -> bool:
        kind, curve = ALGORITHMS[algorithm]
        return self.kind == kind and self.curve == curve and self.algorithm in (None, algorithm)


class KeySet(NamedTuple):
    keys: tuple[VerifyingKey, ...] = ()

    def find(self, kid: str | None, algorithm: str) -> VerifyingKey:
        """UnknownKey where it is not there; BadToken where several or none can be meant."""
        if kid is None:
            fitting = [key for key in self.keys if key.fits(algorithm)]
            if len(fitting) != 1:
                raise BadToken("the token names no key (kid), and the key set has not just one for its algorithm")
            return fitting[0]
        named = [key for key in self.keys if key.kid == kid]
        if not named:
            raise UnknownKey(f"no key of the key set has the id {_shown(kid)}")
        for key in named:
            if key.fits(algorithm):
                return key
        raise BadToken(f"the key {_shown(kid)} is not for the algorithm {algorithm}")


def parse_key_set(data: bytes) -> KeySet:
    """A JWKS (RFC 7517). Keys that cannot verify signatures are passed over, as the RFC asks for."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise BadKeySet(f"it is no JSON: {error}") from None
    entries = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        raise BadKeySet('it has no list "keys"')
    if len(entries) > JWKS_KEYS_MAX:
        raise BadKeySet(f"it has more than {JWKS_KEYS_MAX} keys")
    keys = tuple(key for entry in entries if isinstance(entry, dict) and (key := _key(entry)) is not None)
    if not keys:
        raise BadKeySet("it has no RSA or EC key for signatures")
    return KeySet(keys)


def _key(entry: Mapping[str, object]) -> VerifyingKey | None:
    kid, use, algorithm = entry.get("kid"), entry.get("use"), entry.get("alg")
    operations = entry.get("key_ops", ["verify"])
    if use not in (None, "sig") or not isinstance(operations, list) or "verify" not in operations:
        return None
    if algorithm is not None and algorithm not in ALGORITHMS:
        return None
    public: dict[str, str | list[str]] = {
        name: str(entry[name]) for name in ("kty", "n", "e", "crv", "x", "y") if name in entry
    }
    try:
        key: RSAKey | ECKey
        if public.get("kty") == "RSA":
            bits = int.from_bytes(urlsafe_b64decode(str(public.get("n")) + "==")).bit_length()
            if not _RSA_BITS_MIN <= bits <= _RSA_BITS_MAX:
                return None
            key, curve = RSAKey.import_key(public), None
        elif public.get("kty") == "EC":
            key, curve = ECKey.import_key(public), str(entry.get("crv"))
            assert key.raw_value is not None  # a point that is not on the curve raises here, not at the first login
        else:
            return None
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    text = kid if isinstance(kid, str) else None
    return VerifyingKey(text, str(public["kty"]), curve, str(algorithm) if algorithm else None, key)


def verified(token: str, keys: KeySet, rules: TokenRules, now_s: float) -> Identity:
    """Who the token is of and until when. BadToken where it is not valid."""
    try:
        parts = jws.extract_compact(token.encode(), registry=_registry)
        header = parts.headers()
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise BadToken(f"it is no JWT: {_shown(error)}") from None
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise BadToken(f"the algorithm {_shown(algorithm)} is not accepted; accepted are {', '.join(ALGORITHMS)}")
    if kid is not None and not isinstance(kid, str):
        raise BadToken("the id of its key (kid) is no text")
    key = keys.find(kid, algorithm)
    try:
        payload = jws.deserialize_compact(token.encode(), key.key, algorithms=[algorithm], registry=_registry).payload
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise BadToken(f"its signature is wrong: {_shown(error)}") from None
    return identity_of(_claims(payload or b""), rules, now_s)


def unsigned(token: str, rules: TokenRules, now_s: float) -> Identity:
    """The same of a token without a signature, which proves nothing: for tests of a cluster (KIP-255)."""
    try:
        parts = jws.extract_compact(token.encode(), registry=_registry)
        header, signature = parts.headers(), token.rpartition(".")[2]
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise BadToken(f"it is no JWT: {_shown(error)}") from None
    if header.get("alg") != "none" or signature:
        raise BadToken("it is signed, and this listener takes tokens without a signature only")
    return identity_of(_claims(parts.payload or b""), rules, now_s)


def identity_of(claims: Mapping[str, object], rules: TokenRules, now_s: float) -> Identity:
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        raise BadToken(f"its issuer is {_shown(claims.get('iss'))}, not {rules.issuer}")
    audience = claims.get("aud")
    named = [audience] if isinstance(audience, str) else audience if isinstance(audience, list) else []
    if rules.audience and not any(isinstance(each, str) and each in rules.audience for each in named):
        raise BadToken(f"its audience is {_shown(audience)}, not {' or '.join(sorted(rules.audience))}")
    expires_s, issued_s = _time(claims, "exp", required=True), _time(claims, "iat", required=rules.issuer is not None)
    not_before_s = _time(claims, "nbf", required=False)
    assert expires_s is not None
    if now_s - rules.skew_seconds >= expires_s:
        raise BadToken("it has expired")
    if not_before_s is not None and now_s + rules.skew_seconds < not_before_s:
        raise BadToken("it is not valid yet (nbf)")
    if issued_s is not None and now_s + rules.skew_seconds < issued_s:
        raise BadToken("it was issued in the future (iat): compare the clocks of this machine and of the provider")
    if expires_s < max(issued_s or 0.0, not_before_s or 0.0):
        raise BadToken("it expires before it begins")
    _check_scope(claims.get(rules.scope_claim), rules.scope_claim)
    subject = claims.get(rules.subject_claim)
    if not isinstance(subject, str) or not subject.strip():
        raise BadToken(f"it has no text as {rules.subject_claim} (sasl.oauthbearer.sub.claim.name)")
    return Identity(subject, int(expires_s * 1000))


def _claims(payload: bytes) -> Mapping[str, object]:
    try:
        claims = msgspec.json.decode(payload)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        claims = None
    if not isinstance(claims, dict):
        raise BadToken("its claims are no JSON object")
    return claims


def _time(claims: Mapping[str, object], name: str, *, required: bool) -> float | None:
    value = claims.get(name)
    if value is None and not required:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _YEAR_10000:
        raise BadToken(f"it has no time as {name}")
    assert math.isfinite(value)
    return value


def _check_scope(value: object, name: str) -> None:
    """A text or a list of texts, each of them once, as Kafka has it."""
    if not isinstance(value, list):
        return
    scopes = [each.strip() if isinstance(each, str) else "" for each in value]
    if not all(scopes) or len(set(scopes)) < len(scopes):
        raise BadToken(f"its {name} is no list of different texts")


def _shown(value: object) -> str:
    return repr(str(value)[:_SHOWN_CHARS])
