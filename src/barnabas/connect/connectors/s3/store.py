"""The bucket: options that every connector of S3 has, the requests that are used, and errors in words.

Requests are made by obstore, whose exceptions hold more than a person should read (the string that was signed, the
whole answer); only the code and the status of an answer are passed on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from barnabas.connect.errors import BadOption, ConnectError, Unavailable
from barnabas.connect.options import Secret, without_password

if TYPE_CHECKING:  # what obstore's types are made of is not there when it runs
    from obstore import GetOptions, GetResult
    from obstore.store import ClientConfig, S3Config

TRIES, TRY_AGAIN_S = 3, 20  # within a request, for answers of 5xx and connections that break; then the runtime waits
_CODE = re.compile(r"<Code>(\w{1,100})</Code>")
_STATUS = re.compile(r"status code: (\d{3})")
_LOGIN = frozenset(
    {"SignatureDoesNotMatch", "InvalidAccessKeyId", "ExpiredToken", "InvalidToken", "RequestTimeTooSkewed"}
)
_INSTANCE = "169.254.169.254"  # where obstore asks for a machine's own credentials when it was given none


class StoreOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    bucket: str
    prefix: str = ""
    endpoint: str = ""
    region: str = ""
    access_key_id: Secret = ""
    secret_access_key: Secret = ""
    session_token: Secret = ""
    virtual_host: bool = False
    ca: str = ""
    timeout_seconds: float = 60

    def __repr__(self) -> str:  # the one that comes with a Struct has the secrets
        return f"{type(self).__name__}(bucket={self.bucket!r}, prefix={self.prefix!r})"


class Found(NamedTuple):
    """An object in a listing."""

    name: str
    size: int
    modified: datetime
    etag: str


class Bucket:
    """Shared by the threads of a connector."""

    def __init__(self, options: StoreOptions) -> None:
        if not options.bucket:
            raise BadOption("option 'bucket' of s3 is empty")
        if bool(options.access_key_id) != bool(options.secret_access_key):
            raise BadOption("s3 needs both 'access_key_id' and 'secret_access_key', or neither: then the environment's")
        if options.timeout_seconds <= 0:
            raise BadOption("option 'timeout_seconds' of s3 must be above 0")
        self.prefix = options.prefix.strip("/")
        self._named = f"bucket {options.bucket!r}"
        if options.endpoint:
            self._named += f" at {without_password(options.endpoint)}"
        try:
            self._store = S3Store(
                options.bucket,
                config=_config(options),
                client_options=_client(options),
                retry_config={"max_retries": TRIES, "retry_timeout": timedelta(seconds=TRY_AGAIN_S)},
            )
        except BaseError as problem:
            raise BadOption(f"s3 cannot use {self._named}: {_first_line(problem)}") from None

    def path(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name

    def create(self, name: str, data: bytes, about: dict[str, str] | None = None) -> bool:
        """Writes an object unless there is one of this name. False: there is."""
        with self._words(f"write {name}"):
            try:
                obstore.put(self._store, name, data, mode="create", attributes=about, use_multipart=False)
            except AlreadyExistsError:
                return False
        return True

    def put(self, name: str, data: bytes) -> None:
        with self._words(f"write {name}"):
            obstore.put(self._store, name, data, use_multipart=False)

    def get(self, name: str, bytes_max: int) -> bytes | None:
        """None: there is no such object."""
        with self._words(f"read {name}"):
            try:
                found = obstore.get(self._store, name)
                if found.meta["size"] > bytes_max:
                    raise Unavailable(
                        f"s3: {name} in {self._named} has {found.meta['size']} bytes, more than {bytes_max}"
                    )
                return bytes(found.bytes())
            except FileNotFoundError:
                return None

    def about(self, name: str) -> dict[str, str] | None:
        """An object's own metadata; None: there is no such object."""
        with self._words(f"look at {name}"):
            try:
                return {str(key): str(text) for key, text in self._head(name).attributes.items()}
            except FileNotFoundError:
                return None

    def find(self, name: str) -> Found | None:
        with self._words(f"look at {name}"):
            try:
                meta = self._head(name).meta
            except FileNotFoundError:
                return None
            return Found(name, meta["size"], meta["last_modified"], meta["e_tag"] or "")

    def _head(self, name: str) -> GetResult:
        return obstore.get(self._store, name, options={"head": True})

    def range(self, name: str, start: int, end: int, etag: str) -> bytes:
        """Bytes of the version that has this tag."""
        with self._words(f"read {name}"):
            options: GetOptions = {"range": (start, end)}
            if etag:
                options["if_match"] = etag
            return bytes(obstore.get(self._store, name, options=options).bytes())

    def list(self, prefix: str, after: str = "") -> Iterator[Found]:
        """In the order of names, those after `after`."""
        with self._words(f"list {prefix or 'objects'}"):
            for part in obstore.list(self._store, prefix or None, offset=after or None, chunk_size=1000):
                for each in part:
                    yield Found(each["path"], each["size"], each["last_modified"], each["e_tag"] or "")

    def delete(self, names: Sequence[str]) -> None:
        with self._words("delete"):
            obstore.delete(self._store, list(names))

    @contextmanager
    def _words(self, doing: str) -> Iterator[None]:
        try:
            yield
        except ConnectError:
            raise
        except (BaseError, OSError) as problem:
            raise self._problem(problem, doing) from None

    def _problem(self, problem: Exception, doing: str) -> Unavailable:
        text = str(problem)
        code, status = (_CODE.search(text) or ["", ""])[1], (_STATUS.search(text) or ["", ""])[1]
        start, said = f"s3 cannot {doing} in {self._named}", " ".join(filter(None, (status, code)))
        if _INSTANCE in text:
            return Unavailable(
                f"{start}: there are no credentials",
                "Give 'access_key_id' and 'secret_access_key', or AWS_ACCESS_KEY_ID",
            )
        if code in _LOGIN or isinstance(problem, UnauthenticatedError):
            way_out = "Check 'access_key_id', 'secret_access_key' and the clock"
            return Unavailable(f"{start}: the login is refused ({said})", way_out)
        if isinstance(problem, PermissionDeniedError):
            way_out = "Check the keys, and that they may list, read and write below 'prefix'"
            return Unavailable(f"{start}: access is denied ({said or 403})", way_out)
        if code == "NoSuchBucket":
            return Unavailable(f"{start}: there is no such bucket", "Create it, or check 'bucket' and 'endpoint'")
        if status == "501":
            return Unavailable(f"{start}: the store has no conditional writes ({said})", "Exactly once needs them")
        if said:
            return Unavailable(f"{start}: it answers {said}")
        return Unavailable(f"{start}: {_first_line(problem)}", "Check 'endpoint' and that it runs")


def _config(options: StoreOptions) -> S3Config:
    config: S3Config = {"virtual_hosted_style_request": options.virtual_host}
    if options.endpoint:
        config["endpoint"] = options.endpoint.rstrip("/")
    if options.region:
        config["region"] = options.region
    if options.access_key_id:
        config["access_key_id"] = options.access_key_id
        config["secret_access_key"] = options.secret_access_key
    if options.session_token:
        config["session_token"] = options.session_token
    return config


def _client(options: StoreOptions) -> ClientConfig:
    client: ClientConfig = {"timeout": timedelta(seconds=options.timeout_seconds)}
    if options.endpoint.startswith("http://"):
        client["allow_http"] = True
    if options.ca:
        try:
            client["root_certificate"] = Path(options.ca).read_bytes()
        except OSError as problem:
            raise BadOption(f"s3 cannot read {options.ca}: {problem.strerror}", "Check 'ca'") from None
    return client


def _first_line(problem: Exception) -> str:
    """What obstore says, without the request's address and its debugging text."""
    line = " ".join(str(problem).split("\n\nDebug source")[0].split())
    _, _, said = line.rpartition(" - ")
    return without_password(said)[:300]
