"""Every example that `--help` and docs/cli.md show is typed into a shell, in an order that makes sense, and works.

The world of the examples: a node on this machine whose folder is `data`, the topics, the group and the transactional
producer they speak of. What ends by itself ends with 0; what follows or watches is ended by Ctrl-C.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest

from barnabas import Admin, Consumer, Producer
from tests.support.pages import BIN, ROOT, environment, run

# Examples that need minutes, Spark or other machines, and the test that runs the same.
ELSEWHERE = {
    r"barnabas up\b": "tests/clients/test_cli_up.py",
    r"barnabas console\b": "tests/console",
    r"barnabas schema\b|--registry http": "tests/registry/test_cli.py",
    r"barnabas registry\b": "tests/registry",
    r"barnabas link\b": "tests/linked_clusters",
    r"barnabas mirror\b": "tests/mirror",
    r"barnabas connect\b": "tests/connect/runtime/test_cli_examples.py",
    r"barnabas demo (bus|disaster)": "tests/clients/test_demo_bus.py, tests/connect/demo, test_demo_disaster.py",
    r"barnabas demo\b": "tests/spark/test_pipeline_cli.py",
    r"barnabas pipeline (new|run|stop)\b": "tests/spark/test_pipeline_cli.py",
    r"barnabas cluster (kill-test|drain|balance|voters --|recover)": "tests/clients/test_readme.py, tests/cluster",
    r"barnabas secure (rotate|status)": "tests/security/test_one_word.py",
    r"barnabas token\b": "tests/security/test_delegation_tokens.py",
    r"barnabas sim .*(--seeds|--nodes)": "tests/sim",
}
# Deleting comes last, so that what the others speak of is there.
LATER = [
    r"quota (set|list|remove)",  # in this order; the quotas hold for the other examples too
    r"telemetry (subscribe|list|remove)",  # in this order
    r"acl remove",
    r"user password",
    r"user delete",
    r"topic grow",
    r"delete-records",
    r"config delete",
    r"group reset",
    r"txn abort --topic",
    r"txn abort b",
    r"group delete",
    r"topic delete ",
]

# What the world of the test has no case for, and the line that says so.
REFUSED = {r"--start-offset 1200": "no open transaction begins at offset 1200 of orders-0. Open ones begin at 0."}


# Access rules can be spoken of where there is an authorizer; on a plain listener everybody is User:ANONYMOUS.
SETTINGS = [
    "--set=offsets.topic.num.partitions=4",
    "--set=authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "--set=super.users=User:ANONYMOUS",
    "--set=audit.enable=true",
]


def examples() -> list[str]:
    page = (ROOT / "docs" / "cli.md").read_text()
    found: list[str] = []
    for block in re.findall(r"^  Example:\n(.*?)\n\n", page, re.MULTILINE | re.DOTALL):
        found += [line.strip() for line in block.splitlines()]
    mine = [line for line in found if not any(re.search(pattern, line) for pattern in ELSEWHERE)]
    return sorted(
        mine, key=lambda line: next((n + 1 for n, pattern in enumerate(LATER) if re.search(pattern, line)), 0)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def node(folder: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [BIN / "barnabas", "up", "-q", "--port", "0", "--data", "data", *SETTINGS],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
        env=environment("", folder),
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    fill(address, folder)
    yield address
    process.terminate()
    process.communicate(timeout=30)


def fill(bootstrap: str, folder: Path) -> None:
    """Records for `views` to read, and the group that the examples name."""
    (folder / "views.jsonl").write_text("".join(f'{{"view": {number}}}\n' for number in range(9_000)))
    with Admin(bootstrap) as admin:
        admin.create_topic("orders")
        admin.create_topic("copy")
        admin.create_topic("views-of-billing")
    with Producer(bootstrap) as producer:
        producer.send("views-of-billing", b"one")
    assert list(Consumer("views-of-billing", bootstrap=bootstrap, group="billing", max_records=1))


@pytest.fixture(scope="module")
def open_transaction(node: str) -> Iterator[None]:
    """The producer `billing-1`, in the middle of a transaction."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": node, "transactional.id": "billing-1", "transaction.timeout.ms": 600_000}
    )
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("orders", b"one")
    producer.flush(20)
    yield
    producer.purge()


def test_every_example_works(node: str, folder: Path, open_transaction: None) -> None:
    wrong: list[str] = []
    found = examples()
    assert len(found) > 50
    for example in found:
        line = example.replace("events.example.org:9092", node).replace("/var/lib/barnabas", "data")
        line += " --yes" * bool(re.search(r"txn abort billing-1$|delete-records views --before '7d ago'$", line))
        if "--before 1200 --partition 0" in line:  # which partition gets how much of views.jsonl is left to chance
            with Producer(node) as producer:
                for _ in range(1200):
                    producer.send("views", b"one more", partition=0)
        done = run(line, node, folder)
        refused = next((text for pattern, text in REFUSED.items() if re.search(pattern, example)), None)
        if refused is not None:
            good = done.returncode in (1, 2) and refused in done.stderr and done.stderr.count("\n") == 1
        else:
            good = done.returncode in ((0, 130) if re.search("--(follow|watch)", example) else (0,))
        if not good or "Traceback" in done.stderr:
            wrong.append(f"{example}\n-> {done.returncode}\n{done.stdout[-500:]}{done.stderr[-500:]}")
    assert not wrong, "\n\n".join(wrong)
