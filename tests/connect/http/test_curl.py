"""The webhook with a client that is not ours."""

from __future__ import annotations

import subprocess
from pathlib import Path

from barnabas.connect.contract import Record, Value
from tests.support.certificates import Authority
from tests.unit.connect.http.test_webhook import reading, take


def test_curl(tmp_path: Path) -> None:
    """It keeps connections, waits for 100-continue, sends chunks, speaks TLS."""
    large = tmp_path / "large"
    large.write_bytes(bytes(range(256)) * 8000)
    authority = Authority(tmp_path)
    certificate = authority.issue("hook")
    options: dict[str, Value] = {"cert_file": str(certificate.certificate), "key_file": str(certificate.key)}
    with reading(max_bytes=3_000_000, headers=["content-type", "X-Kind"], **options) as reader:
        url = f"https://127.0.0.1:{reader.port}/"
        common = ["--silent", "--cacert", str(authority.file), "--max-time", "20", "--write-out", "%{http_code} "]
        requests = [
            ["--data-binary", f"@{large}", "--header", "Expect: 100-continue", url],
            ["--data-binary", f"@{large}", "--header", "Transfer-Encoding: chunked", url],
            ["--json", '{"a": 1}', "--header", "X-Kind: one", url],
            ["--request", "PUT", "--data", "", url],
            ["--http1.0", "--data", "x", url],
        ]
        command = ["curl", *common]
        for number, each in enumerate(requests):
            command += (["--next", *common] if number else []) + each
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            records: list[Record] = []
            for _ in requests:
                more, position = take(reader, 1)
                reader.committed(position)
                records += more
            output, _ = process.communicate(timeout=20)
    assert output == b"200 200 200 200 200 "
    assert [record.value for record in records] == [large.read_bytes(), large.read_bytes(), b'{"a": 1}', b"", b"x"]
    assert ("x-kind", b"one") in records[2].headers
    assert ("content-type", b"application/json") in records[2].headers
