"""docs/registry.md as a reader follows it, on a registry of the test's node: its commands, programs and refusal."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.support.pages import ROOT, environment, run, section
from tests.support.registry import RegistryProcess
from tests.support.servers import BarnabasNode

PAGE = ROOT / "docs" / "registry.md"


def blocks(title: str) -> list[str]:
    text = section(PAGE, title)
    found = re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in found]


def test_from_nothing_to_a_typed_topic(node: BarnabasNode, registry: RegistryProcess, tmp_path: Path) -> None:
    def here(text: str) -> str:
        return text.replace("http://127.0.0.1:8081", registry.address).replace("127.0.0.1:9092", node.bootstrap)

    def typed(text: str) -> subprocess.CompletedProcess[str]:
        return run(f"export BARNABAS_REGISTRY={registry.address}; set -e\n{here(text)}", node.bootstrap, tmp_path)

    def program(text: str) -> None:
        told = environment(node.bootstrap, tmp_path)
        subprocess.run([sys.executable, "-c", here(text)], cwd=tmp_path, env=told, check=True, timeout=60)

    for more in ("", "?permanent=true"):  # other tests of this registry have schemas of this name, too
        gone = Request(f"{registry.address}/subjects/orders-value{more}", method="DELETE")
        with suppress(HTTPError):
            urlopen(gone, timeout=20).close()
    up, register, records, library, confluent, change = blocks("From nothing to a typed topic")
    assert up.startswith("barnabas up --registry ")  # tests/registry/test_up.py
    registered = typed(register)
    assert registered.returncode == 0 and "orders-value" in registered.stdout, registered
    read = typed(records)
    assert read.returncode == 0 and "book" in read.stdout, read
    program(library)
    assert "tea" in typed(records.splitlines()[-1]).stdout
    program(confluent)

    refused = typed(change)
    assert refused.returncode == 1 and "pieces" in refused.stdout + refused.stderr, refused
    with_default = change.replace('"type": "int"', '"type": "int", "default": 1')
    assert with_default != change
    assert typed(with_default).returncode == 0
    follow = re.findall(r"`(barnabas schema [^`]+)`", section(PAGE, "From nothing to a typed topic"))
    assert [each.split()[2] for each in follow] == ["register", "diff"]
    assert typed(follow[0]).returncode == 0
    assert "pieces" in typed(follow[1]).stdout


def test_rights_of_the_registrys_user(tmp_path: Path) -> None:
    """A node with an authorizer takes the rules that the page gives; test_secured.py shows what they are good for."""
    rules = [block for block in blocks("A secured cluster") if block.startswith("barnabas acl")]
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with BarnabasNode(tmp_path / "node", settings=settings) as locked:
        for rule in "".join(rules).splitlines():
            done = run(rule, locked.bootstrap, tmp_path)
            assert done.returncode == 0, (rule, done)
