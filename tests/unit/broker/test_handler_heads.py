"""The head of each handler says which API it serves, in which versions, and what the later ones added."""

from importlib import import_module

import pytest

from barnabas.wire.apis import SERVED, Api


@pytest.mark.parametrize("api", SERVED.values(), ids=lambda api: api.name)
def test_the_head_names_the_api_and_its_versions(api: Api) -> None:
    head = import_module(f"barnabas.broker.api.{api.name}").__doc__ or ""
    title = "".join(part.capitalize() for part in api.name.split("_"))
    one = api.min_version == api.max_version
    versions = f"version {api.min_version}" if one else f"versions {api.min_version}-{api.max_version}"
    assert head.startswith(f"{title} ({api.key}), {versions}: ")
    assert one or "Versions: " in head or f"v{api.max_version}" in head
