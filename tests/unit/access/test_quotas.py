"""Which quota holds for whom, what may be set, what a filter finds, and how long is throttled."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import pytest

from barnabas.core.access.quotas.connections import ConnectionRates
from barnabas.core.access.quotas.filters import Component, QuotaFilter
from barnabas.core.access.quotas.meters import Meters, Mutations
from barnabas.core.access.quotas.rules import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    NO_QUOTAS,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    Entity,
    QuotaRules,
    entity,
    entity_text,
)
from barnabas.core.access.quotas.windows import THROTTLE_MAX_MS, RateWindow, Samples, TokenBucket
from barnabas.core.cluster.access.quotas import QuotaAlteration, alter
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.record_codec import decode_record, encode_record
from barnabas.core.cluster.records import ClientQuota
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import CONNECTION_DELAY_MAX_MS, QUOTA_ENTITIES_MAX, QUOTA_METERS_MAX

SAMPLES = Samples(11, 1_000)
NOW = 1_000_000
LEVELS: list[tuple[dict[str, str | None], tuple[str | None, str | None]]] = [
    ({USER: "u", CLIENT_ID: "c"}, ("u", "c")),
    ({USER: "u", CLIENT_ID: None}, ("u", "c")),
    ({USER: "u"}, ("u", None)),
    ({USER: None, CLIENT_ID: "c"}, ("u", "c")),
    ({USER: None, CLIENT_ID: None}, ("u", "c")),
    ({USER: None}, ("u", None)),
    ({CLIENT_ID: "c"}, (None, "c")),
    ({CLIENT_ID: None}, (None, "c")),
]


def rules(*given: tuple[dict[str, str | None], str, float]) -> QuotaRules:
    found = NO_QUOTAS
    for parts, key, value in given:
        found = found.changed({entity(parts): {key: value}})
    return found


# --- rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", range(1, 9))
def test_of_every_set_of_levels_the_most_exact_decides(count: int) -> None:
    for chosen in combinations(range(8), count):
        known = rules(*((LEVELS[level][0], PRODUCER_BYTE_RATE, level + 1) for level in chosen))
        found = known.limit(PRODUCER_BYTE_RATE, "u", "c")
        assert found is not None and found.value == chosen[0] + 1
        assert (found.user, found.client_id) == LEVELS[chosen[0]][1]
        assert known.limit(CONSUMER_BYTE_RATE, "u", "c") is None
        stranger = known.limit(PRODUCER_BYTE_RATE, "other", "thing")
        defaults = [level for level in chosen if level in (4, 5, 7)]
        assert (stranger.value if stranger else None) == (defaults[0] + 1 if defaults else None)


def test_a_kind_that_the_exact_rule_lacks_is_taken_from_the_next() -> None:
    known = rules(({USER: "u", CLIENT_ID: "c"}, CONSUMER_BYTE_RATE, 1), ({USER: "u"}, PRODUCER_BYTE_RATE, 2))
    assert known.limit(PRODUCER_BYTE_RATE, "u", "c") == (2, ((USER, "u"),), "u", None)


def test_an_address_has_its_own_rate_or_the_default() -> None:
    known = rules(({IP: "10.0.0.7"}, CONNECTION_CREATION_RATE, 5), ({IP: None}, CONNECTION_CREATION_RATE, 9))
    assert (known.connection_rate("10.0.0.7"), known.connection_rate("10.0.0.8")) == (5, 9)
    assert known.limits_addresses and not known.limits_clients
    assert NO_QUOTAS.connection_rate("10.0.0.7") is None


def test_the_image_keeps_quotas_through_records_and_a_snapshot() -> None:
    made: list[ClientQuota] = [
        ClientQuota(entity=entity({USER: "Gänse", CLIENT_ID: None}), key=PRODUCER_BYTE_RATE, value=1.5),
        ClientQuota(entity=entity({USER: "Gänse", CLIENT_ID: None}), key=REQUEST_PERCENTAGE, value=50.0),
        ClientQuota(entity=entity({IP: "::1"}), key=CONNECTION_CREATION_RATE, value=3.0),
    ]
    read = [decode_record(encode_record(record)) for record in made]
    assert read == made
    image = MetadataImage().apply(read)
    assert dict(image.quotas.by_entity) == {
        ((USER, "Gänse"), (CLIENT_ID, None)): {PRODUCER_BYTE_RATE: 1.5, REQUEST_PERCENTAGE: 50.0},
        ((IP, "::1"),): {CONNECTION_CREATION_RATE: 3.0},
    }
    assert MetadataImage().apply(image.to_records()).quotas == image.quotas
    gone = image.apply([ClientQuota(entity=((IP, "::1"),), key=CONNECTION_CREATION_RATE, value=0.0, remove=True)])
    assert len(gone.quotas) == 1 and len(image.quotas) == 2, "the old image stays as it was"
    assert gone.apply([]).quotas is gone.quotas


# --- changes ----------------------------------------------------------------------------------------------------------


def one(parts: dict[str, str | None], *values: tuple[str, float | None], known: QuotaRules = NO_QUOTAS) -> Any:
    records, ((_, error),) = alter(known, [QuotaAlteration(parts, values)])
    return records if error is None else (error.code, error.message, records)


@pytest.mark.parametrize(
    ("parts", "values", "message"),
    [
        ({}, [(PRODUCER_BYTE_RATE, 1.0)], "Invalid empty client quota entity"),
        ({"group": "g"}, [(PRODUCER_BYTE_RATE, 1.0)], "Unhandled client quota entity type: group"),
        ({USER: ""}, [(PRODUCER_BYTE_RATE, 1.0)], "Empty user not supported"),
        ({USER: "u"}, [("speed", 1.0)], "Invalid configuration key speed"),
        ({USER: "u"}, [(CONNECTION_CREATION_RATE, 1.0)], "Invalid configuration key connection_creation_rate"),
        ({USER: "u"}, [(PRODUCER_BYTE_RATE, 0.0)], "Quota producer_byte_rate must be greater than 0"),
        ({USER: "u"}, [(REQUEST_PERCENTAGE, float("nan"))], "Quota request_percentage must be greater than 0"),
        ({USER: "u"}, [(PRODUCER_BYTE_RATE, 1.5)], "producer_byte_rate cannot be a fractional value."),
        ({USER: "u"}, [(CONSUMER_BYTE_RATE, 1e20)], "Proposed value for consumer_byte_rate is too large for a LONG."),
        (
            {IP: "1.2.3.4"},
            [(CONNECTION_CREATION_RATE, 2.0**31)],
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
        ({IP: "no such"}, [(CONNECTION_CREATION_RATE, 1.0)], "no such is not a valid IP or resolvable host."),
        (
            {IP: "1.2.3.4", USER: "u"},
            [(CONNECTION_CREATION_RATE, 1.0)],
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        (
            {USER: "u"},
            [(REQUEST_PERCENTAGE, 1.0), (REQUEST_PERCENTAGE, 2.0)],
            "Ignoring duplicate entity ClientQuotaEntity(entries={user=u})",
        ),
    ],
)
def test_what_cannot_be_set_is_refused_in_kafkas_words(
    parts: dict[str, str | None], values: list[tuple[str, float | None]], message: str
) -> None:
    assert one(parts, *values) == (ErrorCode.INVALID_REQUEST, message, [])


def test_only_what_changes_becomes_a_record() -> None:
    known = rules(({USER: "u"}, PRODUCER_BYTE_RATE, 5.0))
    assert one({USER: "u"}, (PRODUCER_BYTE_RATE, 5.0), known=known) == []
    assert one({USER: "u"}, (CONSUMER_BYTE_RATE, None), known=known) == []
    (removed,) = one({USER: "u"}, (PRODUCER_BYTE_RATE, None), known=known)
    assert removed.remove and removed.entity == ((USER, "u"),)


def test_entries_fail_one_by_one_and_an_entity_counts_once() -> None:
    good = QuotaAlteration({USER: "a"}, [(PRODUCER_BYTE_RATE, 1.0)])
    bad = QuotaAlteration({USER: "b"}, [(PRODUCER_BYTE_RATE, -1.0)])
    records, results = alter(NO_QUOTAS, [good, bad, good])
    assert [record.entity for record in records if isinstance(record, ClientQuota)] == [((USER, "a"),)]
    assert [error.message if error else None for _, error in results] == [
        "Ignoring duplicate entity ClientQuotaEntity(entries={user=a})",
        "Quota producer_byte_rate must be greater than 0",
    ]


def test_a_cluster_has_so_many_entities_and_no_more() -> None:
    full = QuotaRules({((USER, str(n)),): {PRODUCER_BYTE_RATE: 1.0} for n in range(QUOTA_ENTITIES_MAX)})
    assert one({USER: "new"}, (PRODUCER_BYTE_RATE, 1.0), known=full)[0] is ErrorCode.POLICY_VIOLATION
    assert len(one({USER: "7"}, (PRODUCER_BYTE_RATE, 2.0), known=full)) == 1


# --- filters ----------------------------------------------------------------------------------------------------------

ENTITIES: list[Entity] = [entity(parts) for parts, _ in LEVELS] + [((IP, "10.0.0.7"),)]


@pytest.mark.parametrize(
    ("components", "strict", "found"),
    [
        ([], False, set(range(9))),
        ([], True, set()),
        ([(USER, 0, "u")], False, {0, 1, 2}),
        ([(USER, 0, "u")], True, {2}),
        ([(USER, 1, None)], False, {3, 4, 5}),
        ([(USER, 2, None)], False, {0, 1, 2, 3, 4, 5}),
        ([(USER, 2, None), (CLIENT_ID, 1, None)], True, {1, 4}),
        ([(CLIENT_ID, 0, "c")], True, {6}),
        ([(IP, 2, None)], True, {8}),
        ([(IP, 0, "10.0.0.8")], True, set()),
    ],
)
def test_filters(components: list[tuple[str, int, str | None]], strict: bool, found: set[int]) -> None:
    wanted = QuotaFilter([Component(*component) for component in components], strict)
    assert {number for number, parts in enumerate(ENTITIES) if wanted.matches(parts)} == found


@pytest.mark.parametrize(
    ("components", "code", "message"),
    [
        ([("", 0, "u")], 42, "Invalid empty entity type."),
        ([(USER, 0, "u"), (USER, 2, None)], 42, "Entity type user cannot appear more than once in the filter."),
        ([("group", 0, "g")], 35, "Unsupported entity type group"),
        ([(USER, 0, None)], 42, "Request specified MATCH_TYPE_EXACT, but set match string to null."),
        ([(USER, 1, "u")], 42, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."),
        ([(USER, 2, "u")], 42, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."),
        ([(USER, 3, None)], 42, "Unknown match type 3"),
        (
            [(USER, 2, None), (IP, 2, None)],
            42,
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId"
            " filter component.",
        ),
    ],
)
def test_filters_that_mean_nothing(components: list[tuple[str, int, str | None]], code: int, message: str) -> None:
    with pytest.raises(KafkaError) as refused:
        QuotaFilter([Component(*component) for component in components], strict=False)
    assert (refused.value.code, refused.value.message) == (code, message)


# --- windows and meters -----------------------------------------------------------------------------------------------


def test_a_burst_is_spread_over_the_window() -> None:
    window = RateWindow(SAMPLES)
    window.record(30_000, NOW)
    assert window.throttle_ms(1_000, NOW) == 20_000, "30 s of its quota at once, and 10 s were saved"
    assert window.throttle_ms(3_000, NOW) == 0
    assert window.throttle_ms(1_000, NOW + 11_001) == 0, "it is forgotten"


def test_times_that_no_answer_can_carry() -> None:
    window, bucket = RateWindow(SAMPLES), TokenBucket(SAMPLES)
    window.record(1e18, NOW)
    bucket.take(1e18, 1, NOW)
    assert window.throttle_ms(1, NOW) == bucket.throttle_ms(1, NOW) == THROTTLE_MAX_MS


def test_clients_that_share_a_quota_share_its_meter() -> None:
    meters, known = Meters(SAMPLES), rules(({USER: "u"}, PRODUCER_BYTE_RATE, 100))
    assert meters.of(known, "u", "a", NOW).produced(1_000, NOW) == 0
    assert meters.of(known, "u", "b", NOW).produced(1_000, NOW) > 0
    assert meters.of(known, "other", "a", NOW).produce is None
    (throttled,) = meters.throttled(NOW + 5)
    assert (throttled.user, throttled.client_id, throttled.rule, throttled.ago_ms) == ("u", None, ((USER, "u"),), 5)
    assert throttled.limit == 100 and throttled.time_ms == 10_000
    assert not list(meters.throttled(NOW + 30_000))


def test_a_changed_rule_keeps_what_was_used() -> None:
    meters = Meters(SAMPLES)
    meters.of(rules(({USER: "u"}, PRODUCER_BYTE_RATE, 1_000)), "u", "a", NOW).produced(5_000, NOW)
    assert meters.of(rules(({USER: "u"}, PRODUCER_BYTE_RATE, 100)), "u", "a", NOW).produced(0, NOW) == 40_000


def test_an_answer_that_is_not_sent_does_not_count() -> None:
    meters, known = Meters(SAMPLES), rules(({USER: "u"}, CONSUMER_BYTE_RATE, 100))
    client = meters.of(known, "u", "a", NOW)
    assert client.fetch_max_bytes == 1_000
    assert client.fetched(900, 0.0, NOW) == 0
    assert client.fetched(900, 0.0, NOW) == client.fetched(900, 0.0, NOW) == 8_000
    assert client.fetched(100, 0.0, NOW) == 0


def test_the_time_of_the_loop_is_a_quota_with_short_throttles() -> None:
    client = Meters(SAMPLES).of(rules(({USER: "u"}, REQUEST_PERCENTAGE, 10)), "u", "a", NOW)
    assert client.worked(0.9, NOW) == 0
    assert client.worked(5.0, NOW) == 1_000, "never longer than a sample"


def test_client_ids_do_not_grow_the_meters_without_end() -> None:
    meters, known = Meters(SAMPLES), rules(({CLIENT_ID: None}, PRODUCER_BYTE_RATE, 100))
    for number in range(QUOTA_METERS_MAX + 10):
        meters.of(known, "u", str(number), NOW).produced(1, NOW)
    assert len(meters) <= QUOTA_METERS_MAX
    meters.of(known, "u", str(QUOTA_METERS_MAX + 5), NOW + 100_000)
    assert meters.of(known, "u", str(QUOTA_METERS_MAX + 5), NOW).produced(5_000, NOW) > 0, "the newest are known still"


def test_partitions_are_refused_once_the_tokens_are_gone() -> None:
    mutations, known = Mutations(SAMPLES), rules(({USER: "u"}, CONTROLLER_MUTATION_RATE, 2))
    charge = mutations.charge(known, "u", "c", strict=True, now_ms=NOW)
    assert charge is not None
    charge(30)  # of 22: a request that begins with tokens is served
    with pytest.raises(KafkaError, match="quota has been exceeded"):
        charge(1)
    assert charge.throttle_ms == 4_000
    later = mutations.charge(known, "u", "c", strict=False, now_ms=NOW + 4_000)
    assert later is not None
    later(1)
    assert later.throttle_ms == 500
    assert mutations.charge(known, "other", "c", strict=True, now_ms=NOW) is None


# --- connections ------------------------------------------------------------------------------------------------------


def test_connections_above_a_rate_come_one_after_the_other() -> None:
    rates = ConnectionRates(Samples(2, 1_000))
    delays = [rates.delay_ms("L", 5, None, NOW) or 0 for _ in range(12)]
    assert delays[:5] == [0] * 5 and all(later >= earlier for earlier, later in pairwise(delays))
    assert 1_000 <= delays[-1] <= 2_500, "twelve at five a second"
    assert rates.delay_ms("other", None, None, NOW) == 0
    assert rates.delay_ms("L", 0, None, NOW + 60_000) == 1_000, "a rate of none lets one in each second"


def test_an_address_above_its_rate_is_refused_and_the_refused_do_not_count() -> None:
    rates = ConnectionRates(Samples(2, 1_000))
    refused = [rates.refused_ms("10.0.0.7", 3, NOW) for _ in range(10)]
    assert refused[:3] == [0, 0, 0] and all(0 < time_ms <= 1_000 for time_ms in refused[3:])
    assert rates.refused_ms("10.0.0.8", 3, NOW) == 0
    assert rates.refused_ms("10.0.0.7", 3, NOW + 1_500) == 0


def test_an_entity_in_words() -> None:
    assert entity_text(entity({CLIENT_ID: None, USER: "u"})) == "user=u, default client-id"


def test_a_listener_lets_no_queue_of_new_connections_grow_without_end() -> None:
    """Whoever floods it leaves again; those that come later would wait for connections that are gone."""
    rates = ConnectionRates(Samples(11, 1000))
    found = [rates.delay_ms("CLIENTS", 100, None, 1_000_000 + number // 10) for number in range(20_000)]
    assert None in found and max(delay for delay in found if delay is not None) <= CONNECTION_DELAY_MAX_MS + 1000
    assert rates.delay_ms("CLIENTS", 100, None, 1_000_000 + 2_000 + CONNECTION_DELAY_MAX_MS) is not None
