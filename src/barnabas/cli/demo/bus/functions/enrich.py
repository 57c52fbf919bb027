"""Orders with the name and the city of their customer, from topic orders to topic orders.enriched.

A sink of the connector enrich (enrich.yaml). What it raises is tried again, and an order that is written twice has the
same key and value: whoever keeps the last record of a key sees no difference.
"""

from __future__ import annotations

import threading
from functools import cache

import msgspec

from barnabas import Consumer, Producer
from barnabas.connect import Delivered

_lock = threading.Lock()  # each partition is written by a thread of its own
_customers: dict[int, dict[str, str]] = {}


def write(records: list[Delivered], options: dict[str, str]) -> None:
    producer = _producer(options["bootstrap"])
    sent = [
        producer.send("orders.enriched", _enriched(each, options["bootstrap"]), msgspec.json.encode(each.key))
        for each in records
    ]
    for each in sent:
        each.result(30)


def _enriched(record: Delivered, bootstrap: str) -> bytes | None:
    if record.value is None:  # the order was deleted
        return None
    return msgspec.json.encode({**record.value, **_customer(record.value["customer_id"], bootstrap)})


def _customer(number: int, bootstrap: str) -> dict[str, str]:
    with _lock:
        if number not in _customers:
            with Consumer("customers", bootstrap=bootstrap, start="earliest", follow=False) as everybody:
                for message in everybody:
                    row = msgspec.json.decode(message.value)
                    _customers[row["id"]] = {"customer": row["name"], "city": row["city"]}
    return _customers[number]  # raises where the customer has not come yet


@cache
def _producer(bootstrap: str) -> Producer:
    return Producer(bootstrap)
