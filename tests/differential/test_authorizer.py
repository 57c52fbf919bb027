"""The same rules and questions to Kafka's StandardAuthorizer and to ours: who may do what, who may write somewhere
(KIP-679), and which rules a filter finds.

Kafka's own class decides (of the release under test), over some thousand random sets of rules.
"""

from __future__ import annotations

import subprocess
from random import Random

import pytest

from barnabas.core.access.authorizer import Authorizer
from barnabas.core.access.bindings import AclBinding, AclFilter
from barnabas.model.access import AclPermission, PatternType
from tests.support.paths import LIBS, ROOT, require_setup
from tests.unit.access.model import HOSTS, NAMES, PRINCIPALS, TYPES, Question, made, random_rule

pytestmark = [pytest.mark.timeout(120)]

CASES, QUESTIONS, FILTERS = 2_000, 12, 6
_ANY = 1


class Case:
    def __init__(self, random: Random) -> None:
        self.super_users = frozenset({"User:bob"}) if random.random() < 0.2 else frozenset[str]()
        self.everyone = random.random() < 0.4
        self.rules = list(dict.fromkeys(random_rule(random) for _ in range(random.randrange(20))))
        self.questions = [Question(random) for _ in range(QUESTIONS)]
        self.filters = [_random_filter(random) for _ in range(FILTERS)]

    def line(self) -> str:
        rules = "|".join(_fields(*_parts(rule)) for rule in self.rules)
        questions = "|".join(_fields(q.principal, q.host, q.operation, q.resource_type, q.name) for q in self.questions)
        filters = "|".join(_fields(*_filter_parts(each)) for each in self.filters)
        everyone = str(self.everyone).lower()
        return ";".join((";".join((" ".join(self.super_users), everyone)), rules, questions, filters))

    def ours(self) -> str:
        rules, authorizer = made(self.rules), Authorizer(self.super_users, self.everyone)
        digits = ""
        for q in self.questions:
            digits += str(
                int(authorizer.decide(rules, q.principal, q.host, q.operation, q.resource_type, q.name).allowed)
            )
            digits += str(int(authorizer.allows_some(rules, q.principal, q.host, q.operation, q.resource_type)))
        counts = [sum(map(each.matches, rules.candidates(each))) for each in self.filters]
        return digits + ";" + "".join(f"{count}," for count in counts)


def _random_filter(random: Random) -> AclFilter:
    return AclFilter(
        random.choice((_ANY, _ANY, *TYPES)),
        random.choice((None, *NAMES)),
        random.choice((_ANY, PatternType.MATCH, PatternType.LITERAL, PatternType.PREFIXED)),
        random.choice((None, None, None, *PRINCIPALS)),
        random.choice((None, None, *HOSTS)),
        random.choice((_ANY, _ANY, _ANY, 2, 3, 4, 8)),
        random.choice((_ANY, _ANY, AclPermission.ALLOW, AclPermission.DENY)),
    )


def _parts(rule: AclBinding) -> tuple[object, ...]:
    return tuple(getattr(rule, name) for name in rule.__struct_fields__)


def _filter_parts(wanted: AclFilter) -> tuple[object, ...]:
    return tuple(getattr(wanted, name) for name in wanted.__struct_fields__)


def _fields(*values: object) -> str:
    return ",".join("" if value is None else str(int(value) if isinstance(value, int) else value) for value in values)


def test_who_may_do_what_as_in_kafka() -> None:
    require_setup()
    random = Random(11)
    cases = [Case(random) for _ in range(CASES)]
    asked = "\n".join(case.line() for case in cases) + "\n"
    source = str(ROOT / "tests" / "java" / "Authorizations.java")
    done = subprocess.run(
        ["java", "-cp", f"{LIBS}/*", source], input=asked, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [line for line in done.stdout.splitlines() if line[:1] in "01"]
    assert len(answers) == CASES
    different = [
        f"{case.line()}\n  ours   {case.ours()}\n  Kafka  {answer}"
        for case, answer in zip(cases, answers, strict=True)
        if case.ours() != answer
    ]
    assert not different, f"{len(different)} of {CASES} differ\n" + "\n".join(different[:3])
    yes = sum(case.ours().split(";")[0].count("1") for case in cases)
    assert 0.1 < yes / (CASES * QUESTIONS * 2) < 0.9, "the questions are one-sided"
