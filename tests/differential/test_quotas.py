"""The same quotas and the same use of them to Kafka's ClientQuotaManager and to ours: which rule holds for whom, who
shares it, and for how many milliseconds a client is throttled; and the same for partitions (KIP-599).

Kafka's own classes decide (of the release under test), over random histories on a clock of the test.
"""

from __future__ import annotations

import subprocess
from random import Random

import pytest

from barnabas.core.access.quotas.meters import Meters, Mutations
from barnabas.core.access.quotas.rules import (
    CLIENT_ID,
    CONTROLLER_MUTATION_RATE,
    NO_QUOTAS,
    PRODUCER_BYTE_RATE,
    USER,
    QuotaRules,
    entity,
)
from barnabas.core.access.quotas.windows import Samples
from barnabas.model.errors import KafkaError
from tests.support.paths import LIBS, ROOT, require_setup

pytestmark = [pytest.mark.timeout(120)]

HISTORIES, STEPS = 300, 60
USERS, CLIENTS = ("alice", "bob", "a b"), ("app", "tool")
DEFAULT, NOBODY = "*", ""
Step = tuple[str, ...]


def history(random: Random) -> list[Step]:
    """Of clients that have a quota: what the others use is measured by Kafka, and not by us."""
    steps: list[Step] = []
    rules = NO_QUOTAS
    for _ in range(STEPS):
        kind = random.random()
        if kind < 0.25 or not steps:
            user, client = random.choice((*USERS[:2], DEFAULT, NOBODY)), random.choice((*CLIENTS, DEFAULT, NOBODY))
            if user or client:
                value = "" if random.random() < 0.2 else str(random.choice((1, 7, 100, 1_000, 1e6)))
                steps.append(("rule", user, client, value))
                rules = ruled(rules, user, client, value)
            continue
        who = random.choice(USERS), random.choice(CLIENTS)
        if rules.limit(PRODUCER_BYTE_RATE, *who) is None:
            continue
        amount, wait_ms = (
            str(random.choice((1, 3, 50, 999, 12_345))),
            str(random.choice((0, 1, 10, 400, 999, 1_000, 9_000, 20_000))),
        )
        if kind < 0.75:
            steps.append(("use", *who, amount, wait_ms))
            if random.random() < 0.1:
                steps.append(("back", *who, amount))
        else:
            steps.append((random.choice(("strict", "lax")), *who, str(random.randrange(1, 60)), wait_ms))
    return steps


def ruled(rules: QuotaRules, user: str, client: str, text: str) -> QuotaRules:
    wanted = {kind: None if name == DEFAULT else name for kind, name in ((USER, user), (CLIENT_ID, client)) if name}
    value = float(text) if text else None
    return rules.changed({entity(wanted): {PRODUCER_BYTE_RATE: value, CONTROLLER_MUTATION_RATE: value}})


def ours(steps: list[Step], samples: Samples) -> str:
    rules, meters, mutations, now_ms, told = NO_QUOTAS, Meters(samples), Mutations(samples), 1_700_000_000_000, ""
    for kind, user, client, *rest in steps:
        if kind == "rule":
            rules = ruled(rules, user, client, rest[0])
        elif kind == "back":
            meter = meters.of(rules, user, client, now_ms).produce
            if meter is not None:
                meter.take_back(float(rest[0]), now_ms)
        elif kind == "use":
            now_ms += int(rest[1])
            told += f"{meters.of(rules, user, client, now_ms).produced(int(rest[0]), now_ms)},"
        else:
            now_ms += int(rest[1])
            charge = mutations.charge(rules, user, client, strict=kind == "strict", now_ms=now_ms)
            refused = ""
            try:
                if charge is not None:
                    charge(int(rest[0]))
            except KafkaError:
                refused = "!"
            told += f"{0 if charge is None else charge.throttle_ms}{refused},"
    return told


def test_quotas_throttle_as_in_kafka() -> None:
    require_setup()
    random = Random(13)
    cases = [
        (Samples(*random.choice(((11, 1000), (11, 1000), (2, 1000), (3, 2000)))), history(random))
        for _ in range(HISTORIES)
    ]
    asked = "".join(
        f"{samples.number};{samples.window_ms // 1000};{'|'.join(','.join(step) for step in steps)}\n"
        for samples, steps in cases
    )
    source = str(ROOT / "tests" / "java" / "Quotas.java")
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{LIBS}/*", source],
        input=asked,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [line[2:] for line in done.stdout.splitlines() if line.startswith("= ")]
    assert len(answers) == HISTORIES
    different = [
        f"{steps}\n  ours   {mine}\n  Kafka  {answer}"
        for (samples, steps), answer in zip(cases, answers, strict=True)
        if (mine := ours(steps, samples)) != answer
    ]
    assert not different, f"{len(different)} of {HISTORIES} differ\n" + "\n".join(different[:2])
    times = [int(time.rstrip("!")) for answer in answers for time in answer.split(",") if time]
    assert 0.1 < sum(time > 0 for time in times) / len(times) < 0.9, "the histories are one-sided"
