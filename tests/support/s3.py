"""s3proxy as a child process: a real S3 endpoint on a folder, which checks signatures. Its backend for files creates an
object by a conditional put for one of several writers only, which the sink needs (its compare-and-swap, If-Match, is
not atomic)."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path
from typing import Any, Protocol

import obstore
import pyarrow.parquet as pq
import zstandard
from obstore.store import S3Store

from tests.support.members import until
from tests.support.paths import ROOT, require
from tests.support.process import ServerProcess, free_port

S3PROXY = ROOT / ".kafka" / "s3proxy"
KEY, SECRET = "access", "sesame-42"


_ENDINGS = (".parquet", ".jsonl", ".gz", ".zst")


class S3Process(ServerProcess):
    def __init__(self, folder: Path, data: Path | None = None) -> None:
        """`data`: where the objects are, else in the folder."""
        port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        self.data = data or folder / "data"
        self.data.mkdir(parents=True, exist_ok=True)
        config = folder / "s3proxy.conf"
        settings = {
            "s3proxy.endpoint": f"http://127.0.0.1:{port}",
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.identity": KEY,
            "s3proxy.credential": SECRET,
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(self.data),
        }
        config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        jar = next(require(S3PROXY).glob("*.jar"))
        command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", str(jar)]
        env = {**os.environ, "LOG_LEVEL": "warn"}
        super().__init__([*command, "--properties", str(config)], port, folder / "s3proxy.log", env)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bucket(self, name: str, secret: str = SECRET) -> S3Bucket:
        (self.data / name).mkdir(exist_ok=True)
        return S3Bucket(self, name, secret)


class HasEndpoint(Protocol):
    @property
    def endpoint(self) -> str: ...


class S3Bucket:
    """A bucket, and what is in it, read without our own code."""

    def __init__(self, server: HasEndpoint, name: str, secret: str = SECRET) -> None:
        self.name = name
        self.options = {
            "bucket": name,
            "endpoint": server.endpoint,
            "region": "us-east-1",
            "access_key_id": KEY,
            "secret_access_key": secret,
        }
        self.store = S3Store(
            name,
            endpoint=server.endpoint,
            region="us-east-1",
            access_key_id=KEY,
            secret_access_key=secret,
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )
        until(self._answers, "the server answers")

    def _answers(self) -> bool:
        try:
            self.names()
        except obstore.exceptions.BaseError:
            return False
        return True

    def names(self, prefix: str = "") -> list[str]:
        """Of objects with data, not of the sink's own."""
        found = [each["path"] for part in obstore.list(self.store, prefix or None) for each in part]
        return sorted(name for name in found if "_barnabas/" not in name)

    def claims(self) -> list[str]:
        found = [each["path"] for part in obstore.list(self.store) for each in part]
        return sorted(name for name in found if "_barnabas/" in name)

    def get(self, name: str) -> bytes:
        return bytes(obstore.get(self.store, name).bytes())

    def put(self, name: str, data: bytes) -> None:
        obstore.put(self.store, name, data, use_multipart=False)

    def delete(self, names: list[str]) -> None:
        obstore.delete(self.store, names)

    def rows(self, name: str) -> list[dict[str, Any]]:
        data = self.get(name)
        if name.endswith(".parquet"):
            return pq.read_table(io.BytesIO(data), partitioning=None).to_pylist()  # type: ignore[no-any-return]
        if name.endswith(".gz"):
            data = gzip.decompress(data)
        elif name.endswith(".zst"):
            data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
        return [json.loads(line) for line in data.splitlines()]

    def all_rows(self) -> list[dict[str, Any]]:
        """A server that was killed while it wrote leaves a file under a name of its own: that is no object."""
        return [row for name in self.names() if name.endswith(_ENDINGS) for row in self.rows(name)]
