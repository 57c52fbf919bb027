"""The town the activity comes from: its members, their companies, the fields they work in and where they live.

Everything follows from one seed. A member's number is the whole member: name, address and employer are worked out from
it, so the town needs no memory, and two generators of the same seed agree on who is who. Fields, cities and companies
are not equally loved: the share of the k-th falls as a power of k, as popularity does.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import accumulate

FIELDS = (
    "software", "nursing", "logistics", "solar", "robotics", "finance", "biotech", "construction", "design", "shipping",
    "teaching", "machine tools", "food", "games", "textiles", "wine", "aviation", "acoustics", "forestry", "ceramics",
)  # fmt: skip
CITIES = (
    "Lyon", "Leipzig", "Porto", "Lagos", "Kyoto", "Nairobi", "Turin", "Pune", "Bergen", "Quito", "Cork", "Tallinn",
    "Ghent", "Oaxaca", "Gdansk", "Izmir",
)  # fmt: skip
TITLES = {
    "software": ("data engineer", "backend developer", "release manager"),
    "nursing": ("ward nurse", "nurse practitioner"),
    "logistics": ("dispatcher", "warehouse lead", "route planner"),
    "solar": ("panel installer", "yield analyst"),
    "robotics": ("controls engineer", "robot technician"),
    "finance": ("accountant", "risk analyst"),
    "biotech": ("lab scientist", "process chemist"),
    "construction": ("site manager", "crane operator", "carpenter"),
    "design": ("product designer", "typographer"),
    "shipping": ("port pilot", "freight broker"),
}
_FIRST = ("Nord", "Alto", "Blue", "Kite", "Stone", "Mira", "Vela", "Oak", "Lumen", "Delta", "Ferro", "Sol", "Tide",
          "Argo", "Juno", "Brand", "Cedar", "Polar", "Iris", "Onyx")  # fmt: skip
_LAST = ("works", "lab", "line", "field", "gate", "ware", "loop", "craft", "port", "wind", "mill", "grid", "point",
         "forge", "yard", "bridge")  # fmt: skip
_NAMES = ("Ada", "Bruno", "Chidi", "Dana", "Elif", "Femi", "Greta", "Hugo", "Ines", "Jonas", "Keiko", "Lars", "Maya",
          "Noor", "Oskar", "Paula", "Rosa", "Sven", "Tomas", "Uma", "Vera", "Wim", "Yara", "Zeno")  # fmt: skip
_SURNAMES = ("Almeida", "Berg", "Costa", "Diallo", "Eriksen", "Fischer", "Garcia", "Haas", "Ito", "Jansen", "Kaya",
             "Lindt", "Moreau", "Novak", "Okafor", "Pires", "Rossi", "Sato", "Tamm", "Vogel")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Member:
    number: int
    name: str
    email: str
    company: str


class Town:
    """Who lives here. `pick_*` draw with the town's tastes from whatever chance they are given."""

    def __init__(self, seed: int, members: int = 2_000, companies: int = 240) -> None:
        chance = random.Random(seed)
        names = [first + last for first in _FIRST for last in _LAST]
        chance.shuffle(names)
        self.members = members
        self.companies = names[: min(companies, len(names))]
        self.field_of = {name: chance.choices(FIELDS, cum_weights=_FIELD_TASTE)[0] for name in self.companies}
        self.city_of = {name: chance.choices(CITIES, cum_weights=_CITY_TASTE)[0] for name in self.companies}
        self._company_taste = list(accumulate((k + 3) ** -0.7 for k in range(len(self.companies))))
        self._seed = seed

    def member(self, number: int) -> Member:
        chance = random.Random(self._seed * 1_000_003 + number)
        first, last = chance.choice(_NAMES), chance.choice(_SURNAMES)
        email = f"{first}.{last}.{number}@members.example".lower()
        return Member(number, f"{first} {last}", email, chance.choice(self.companies))

    def pick_member(self, chance: random.Random) -> int:
        """Some come every hour, most now and then."""
        return int(self.members * chance.random() ** 1.8)

    def pick_field(self, chance: random.Random) -> str:
        return chance.choices(FIELDS, cum_weights=_FIELD_TASTE)[0]

    def pick_city(self, chance: random.Random) -> str:
        return chance.choices(CITIES, cum_weights=_CITY_TASTE)[0]

    def pick_company(self, chance: random.Random) -> str:
        return chance.choices(self.companies, cum_weights=self._company_taste)[0]

    def pick_title(self, chance: random.Random, field: str) -> str:
        return chance.choice(TITLES.get(field, (f"{field} specialist", f"{field} apprentice")))


def _taste(count: int, power: float) -> list[float]:
    return list(accumulate((k + 2) ** -power for k in range(count)))


_FIELD_TASTE = _taste(len(FIELDS), 0.8)
_CITY_TASTE = _taste(len(CITIES), 0.7)
