"""The sink, against nginx."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.connect.connectors.http.sink import HttpSink
from barnabas.connect.errors import Unavailable
from tests.support.delivered import delivered
from tests.support.nginx import nginx
from tests.support.process import free_port
from tests.unit.connect.http.test_requests import write


def test_nginx(tmp_path: Path) -> None:
    """Files by PUT and DELETE; connections that it closes after three requests; bodies that it does not take."""
    port = free_port()
    (tmp_path / "files").mkdir()
    blocks = (
        f"keepalive_requests 3; root {tmp_path}/files; dav_methods PUT DELETE; create_full_put_path on;"
        " location /moved { return 302 http://127.0.0.1:1/; }"
    )
    url = f"http://127.0.0.1:{port}/{{topic}}/{{key}}"
    with nginx(tmp_path, port, blocks, "access_log off; client_max_body_size 1k;") as server:
        records = [delivered(offset, {"n": offset}, f"key/{offset}") for offset in range(10)]
        records.append(delivered(10, {"n": "x" * 2000}, "large"))
        records.append(delivered(11, "text", ".."))
        records.append(delivered(12, "text", "größer"))
        rejected = write(records, url=url, method="PUT")
        assert [each.record.offset for each in rejected] == [10, 11]
        assert rejected[0].reason.startswith(f"http://127.0.0.1:{port} answers 413: <html>")
        folder = tmp_path / "files" / "orders"
        assert sorted(each.name for each in folder.rglob("*") if each.is_file()) == [*map(str, range(10)), "größer"]
        assert (folder / "key" / "3").read_text() == '{"n":3}'
        assert write([delivered(13, None, "key/3")], url=url, method="PUT", tombstones="delete") == []
        assert not (folder / "key" / "3").exists()
        with pytest.raises(Unavailable, match=r"answers 302: .* it redirects\. Put the address"):
            write(records[:1], url=f"http://127.0.0.1:{port}/moved")
        sink = HttpSink("web", {"url": url, "method": "PUT"})
        writer = sink.open("orders", 0)
        assert writer.write(records[:1], 1) == []
        server.kill()
        with pytest.raises(Unavailable, match=f"no answer of http://127.0.0.1:{port}: Connection refused"):
            writer.write(records[:1], 1)
        server.start()
        assert writer.write(records[:1], 1) == []
        writer.close()
