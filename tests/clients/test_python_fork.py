"""A program that forks after it has made its clients, as gunicorn does with --preload."""

from __future__ import annotations

import subprocess
import sys

from barnabas.testing import running_node

_PROGRAM = """
import os, sys, warnings
from barnabas import Admin, Consumer, Producer, UsedAfterFork

bootstrap = sys.argv[1]
producer = Producer(bootstrap)
producer.send("t", b"before").result(10)
consumer = Consumer("t", bootstrap=bootstrap, group="g", commit="manual")
print(next(consumer).value)
admin = Admin(bootstrap)
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and later warn of any fork with threads
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0, "the child failed, or did not end"
    producer.send("t", b"parent").result(10)
    print([message.value for message in Consumer("t", bootstrap=bootstrap, follow=False)])
    consumer.close()
    assert [each.name for each in admin.topics()] == ["t"]
else:
    uses = {"send": lambda: producer.send("t", b"x"), "flush": producer.flush, "len": lambda: len(producer)}
    uses |= {"next": lambda: next(consumer), "poll": lambda: consumer.poll(1), "commit": consumer.commit}
    uses |= {"topics": admin.topics, "create_topic": lambda: admin.create_topic("u"), "lag": consumer.lag}
    for name, use in uses.items():
        try:
            use()
        except UsedAfterFork as error:
            assert "make a new one after the fork" in str(error)
        else:
            sys.exit(f"{name} was not refused")
    producer.close()
    consumer.close()
    with Producer(bootstrap) as fresh:
        fresh.send("t", b"child").result(10)
    admin.close()
    del producer, consumer, admin  # must not wait for threads that only the parent has
    sys.exit(0)
"""


def test_clients_made_before_a_fork_refuse_in_the_child_and_work_in_the_parent() -> None:
    with running_node({"group.initial.rebalance.delay.ms": 0}) as node:
        ended = subprocess.run(
            [sys.executable, "-c", _PROGRAM, node.bootstrap], capture_output=True, text=True, timeout=60
        )
    assert ended.stderr == ""
    assert ended.returncode == 0
    assert ended.stdout.splitlines() == ["b'before'", "[b'before', b'child', b'parent']"]
