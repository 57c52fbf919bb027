"""The shop: customers and orders in PostgreSQL. Orders are placed, change, and some are cancelled."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from barnabas.cli.demo.bus.producing.maker import Maker

if TYPE_CHECKING:
    from barnabas.cli.demo.bus.servers.postgres import Postgres

CUSTOMER_COUNT = 40
ORDERS_AT_FIRST = 100  # what the source finds when it starts
_KEPT = 100  # the newest orders are not deleted: they are looked for in OpenSearch
_ITEMS = ("bread", "coffee", "cheese", "wine", "honey", "salt", "oil", "tea")
_NAMES = ("Ada", "Ben", "Chloe", "Dan", "Eva", "Finn", "Gita", "Hugo", "Ines", "Jan")
_CITIES = ("Berlin", "Lyon", "Oslo", "Porto")
_STATUS = ("paid", "packed", "sent")
_TABLES = """
create table customers (id int primary key, name text not null, city text not null);
create table orders (
    id int generated always as identity primary key, customer_id int not null references customers,
    item text not null, cents int not null, status text not null, ordered_at timestamptz not null default now()
);
"""
_INSERT = "insert into orders (customer_id, item, cents, status) values (%s, %s, %s, 'new') returning id"


class Shop(Maker):
    def __init__(self, postgres: Postgres, rate: float) -> None:
        super().__init__(rate)
        self.newest: tuple[int, float] | None = None  # an order, and when it was written
        self._chance = random.Random()
        self._orders: list[int] = []
        self._connection = postgres.connect()
        self._counting = postgres.connect()  # `_connection` is the thread's
        self._connection.execute(_TABLES)
        for number in range(1, CUSTOMER_COUNT + 1):
            row = (number, f"{_NAMES[number % len(_NAMES)]} {number}", _CITIES[number % len(_CITIES)])
            self._connection.execute("insert into customers values (%s, %s, %s)", row)
        for _ in range(ORDERS_AT_FIRST):
            self._place()

    def count(self) -> tuple[int, int]:
        """Rows, and the sum of their cents."""
        found = self._counting.execute("select count(*), coalesce(sum(cents), 0) from orders").fetchone()
        assert found is not None
        return int(found[0]), int(found[1])

    def close(self) -> None:
        super().close()
        self._connection.close()
        self._counting.close()

    def make_one(self) -> None:
        choice = self._chance.random()
        if choice < 0.6 or len(self._orders) <= _KEPT:
            self._place()
        elif choice < 0.9:
            self._change()
        else:
            self._cancel()

    def _place(self) -> None:
        chance = self._chance
        row = (chance.randint(1, CUSTOMER_COUNT), chance.choice(_ITEMS), chance.randint(200, 9000))
        found = self._connection.execute(_INSERT, row).fetchone()
        assert found is not None
        self._orders.append(found[0])
        self.newest = (found[0], time.monotonic())
        self.made += 1

    def _change(self) -> None:
        number = self._chance.choice(self._orders)
        row = (self._chance.choice(_STATUS), self._chance.randint(0, 500), number)
        self._connection.execute("update orders set status = %s, cents = cents + %s where id = %s", row)
        self.made += 1

    def _cancel(self) -> None:
        number = self._orders.pop(self._chance.randrange(len(self._orders) - _KEPT))
        self._connection.execute("delete from orders where id = %s", (number,))
        self.made += 1
