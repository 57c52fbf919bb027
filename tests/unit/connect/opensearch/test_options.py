"""Options that cannot be right are said in one line; a login never shows."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.connect.connectors.opensearch.options import Node, read_settings
from barnabas.connect.errors import BadOption


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "opensearch needs the option 'url'"),
        ({"url": ""}, "option 'url' of opensearch is empty"),
        ({"url": "ftp://host"}, "'ftp://host' is no address"),
        ({"url": "http://host:port"}, "'http://host' is no address"),
        ({"url": "http://u:secret@"}, "is no address"),
        ({"url": "h", "index": "a-{date}"}, "has no field {date}. There are: {day}, {hour}, {month}, {topic}, {year}"),
        ({"url": "h", "index": "a-{"}, "a brace that is not closed"),
        ({"url": "h", "index": "{}"}, "has no field {}"),
        ({"url": "h", "index": "{topic.__class__}"}, "has no field {topic.__class__}"),
        ({"url": "h", "index": ""}, "option 'index' of opensearch is empty"),
        ({"url": "h", "id": "kay"}, "option 'id' of opensearch: invalid enum value 'kay'"),
        ({"url": "h", "id": "key", "data_stream": True}, "a data stream only takes new documents"),
        ({"url": "h", "username": "a", "api_key": "secret"}, "both 'username' and 'api_key'"),
        ({"url": "h", "batch_bytes": 0}, "option 'batch_bytes' of opensearch must be above 0"),
        ({"url": "https://h", "ca": "/no/such/file"}, "cannot read a certificate: No such file"),
        ({"url": "h", "idx": "a"}, "opensearch has no option 'idx'"),
    ],
)
def test_a_bad_option_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadOption) as caught:
        read_settings(options)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


def test_nodes_and_logins() -> None:
    settings = read_settings({"url": "http://a:1, https://app:p%40ss@b/search/ ,[::1]:9201,c"})
    assert settings.nodes == (
        Node("a", 1, False, ""),
        Node("b", 443, True, "/search"),
        Node("::1", 9201, False, ""),
        Node("c", 9200, False, ""),
    )
    assert [str(each) for each in settings.nodes[1:3]] == ["https://b:443/search", "http://[::1]:9201"]
    assert settings.authorization == "Basic YXBwOnBAc3M="
    assert "p@ss" not in f"{settings!r} {settings.options!r}"
    assert read_settings({"url": "h", "api_key": "abc"}).authorization == "ApiKey abc"


@pytest.mark.parametrize(
    ("options", "by_offset"),
    [
        ({}, False),
        ({"index": "x-{topic}"}, False),
        ({"index": "x-{day}"}, True),
        ({"index": "x-{month}", "id": "key"}, False),
        ({"id": "offset"}, True),
        ({"data_stream": True}, True),
    ],
)
def test_keys_name_documents_unless_the_index_is_by_time(options: dict[str, Any], by_offset: bool) -> None:
    assert read_settings({"url": "h", **options}).by_offset is by_offset
