"""The activity pipeline without Spark: its data, its plain answers worked out by hand, its page and its e-mails."""

import re
import socketserver
import threading
from collections import Counter
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipelines.activity import answer, charts, digest, report
from barnabas.pipelines.activity.charts import nice_top, smooth
from barnabas.pipelines.activity.generator import JOBS, SEARCHES, VIEWS, Activity, hour_shape
from barnabas.pipelines.activity.insights import Insights
from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.activity.town import Town
from barnabas.pipelines.common.disorder import iso, millis
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import Record
from tests.support.tidy import TIDY

BEGIN = 1_790_000_000_000
MINUTE = 60_000
RULES = Rules(window_ms=60 * MINUTE, after_ms=10 * MINUTE, late_ms=MINUTE)


def search(name: str, member: int, at_ms: int, field: str = "wine", city: str = "Porto", sent_ms: int = 0) -> Record:
    value = {"id": name, "member": member, "field": field, "city": city, "found": 3, "time": iso(at_ms)}
    return Record(SEARCHES, str(member), value, sent_ms or at_ms)


def view(name: str, member: int, at_ms: int, company: str = "Kitelab", of: str | None = None) -> Record:
    value = {"id": name, "member": member, "company": company, "search": of, "time": iso(at_ms)}
    return Record(VIEWS, str(member), value, at_ms)


def job(name: str, at_ms: int, company: str = "Kitelab", sent_ms: int = 0) -> Record:
    value = {"id": name, "company": company, "title": "cooper", "field": "wine", "city": "Porto", "time": iso(at_ms)}
    return Record(JOBS, company, value, sent_ms or at_ms)


# --- the data ----------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_stream_and_another_another() -> None:
    first, again, other = (list(islice(Activity(seed).live(BEGIN, 50), 500)) for seed in (3, 3, 4))
    assert first == again != other


def test_the_stream_keeps_its_rate_from_the_first_second() -> None:
    records = list(islice(Activity(5, disorder=TIDY).live(BEGIN, 100), 3000))
    assert records[0].time_ms >= BEGIN
    assert 27_000 < records[-1].time_ms - BEGIN < 33_000
    assert 800 < sum(record.time_ms < BEGIN + 10_000 for record in records) < 1200


def test_every_event_has_an_id_and_ids_come_twice_only_when_sent_twice() -> None:
    records = list(islice(Activity(6).live(BEGIN, 200), 6_000))
    copies = Counter(record.value["id"] for record in records)
    assert 8 < sum(count == 2 for count in copies.values()) < 300
    assert max(copies.values()) == 2


def test_some_come_late_and_neighbours_change_places() -> None:
    records = list(islice(Activity(6).live(BEGIN, 200), 6_000))
    late = [record.time_ms - millis(record.value["time"]) for record in records]
    assert 0.005 < sum(each > 1_000 for each in late) / len(late) < 0.03
    happened = [millis(record.value["time"]) for record in records]
    assert sum(b < a for a, b in pairwise(happened)) > 300
    sent = [record.time_ms for record in records]
    assert sent == sorted(sent)


def test_a_view_follows_its_search() -> None:
    records = list(islice(Activity(6, disorder=TIDY).live(BEGIN, 50), 5_000))
    searches = {r.value["id"]: r.value for r in records if r.topic == SEARCHES}
    followed = [r.value for r in records if r.topic == VIEWS and r.value["search"] in searches]
    assert len(followed) > 1000
    for each in followed:
        origin = searches[each["search"]]
        assert origin["member"] == each["member"] and millis(origin["time"]) < millis(each["time"])


def test_history_has_the_shape_of_a_day() -> None:
    midnight = 1_790_035_200_000 - 1_790_035_200_000 % 86_400_000
    records = list(Activity(8, disorder=TIDY).history(midnight, midnight + 86_400_000, 10_000))
    assert 8_000 < len(records) < 12_000
    by_hour = Counter((record.time_ms // 3_600_000) % 24 for record in records)
    assert by_hour[11] > 3 * by_hour[2]
    assert hour_shape(midnight + 11 * 3_600_000) > hour_shape(midnight + 2 * 3_600_000)


def test_a_member_is_the_same_for_whoever_asks() -> None:
    one, two = Town(9), Town(9)
    assert [one.member(n) for n in range(50)] == [two.member(n) for n in range(50)]
    assert len({one.member(n).email for n in range(500)}) == 500


# --- recommendations, by hand -------------------------------------------------------------------------------------


def pairs(*records: Record) -> set[tuple[str, str]]:
    return set(answer.recommendations(records, RULES))


def test_a_search_meets_the_jobs_of_its_field_and_city_and_a_view_those_of_its_company() -> None:
    jobs = [job("j1", BEGIN), job("j2", BEGIN, company="Oakmill")]
    assert pairs(*jobs, search("s", 1, BEGIN + 1)) == {("s", "j1"), ("s", "j2")}
    assert pairs(*jobs, search("s", 1, BEGIN + 1, city="Cork")) == set()
    assert pairs(*jobs, view("v", 1, BEGIN + 1)) == {("v", "j1")}


def test_the_window_and_the_time_after_have_exact_ends() -> None:
    when = BEGIN + RULES.window_ms
    assert pairs(job("j", BEGIN), search("s", 1, when)) == {("s", "j")}
    assert pairs(job("j", BEGIN), search("s", 1, when + 1)) == set()
    assert pairs(job("j", BEGIN + RULES.after_ms), search("s", 1, BEGIN)) == {("s", "j")}
    assert pairs(job("j", BEGIN + RULES.after_ms + 1), search("s", 1, BEGIN)) == set()


def test_whoever_is_too_late_does_not_count_and_a_copy_counts_once() -> None:
    late = BEGIN + RULES.late_ms
    assert pairs(job("j", BEGIN), search("s", 1, BEGIN, sent_ms=late)) == {("s", "j")}
    assert pairs(job("j", BEGIN), search("s", 1, BEGIN, sent_ms=late + 1)) == set()
    assert pairs(job("j", BEGIN, sent_ms=late + 1), search("s", 1, BEGIN)) == set()
    twice = [job("j", BEGIN), job("j", BEGIN), search("s", 1, BEGIN), search("s", 1, BEGIN)]
    assert len(answer.recommendations(twice, RULES)) == 1


def test_a_fresh_job_is_worth_more_and_a_search_more_than_a_view() -> None:
    found = answer.recommendations(
        [
            job("old", BEGIN),
            job("new", BEGIN + 59 * MINUTE),
            search("s", 1, BEGIN + RULES.window_ms),
            view("v", 1, BEGIN + RULES.window_ms),
        ],
        RULES,
    )
    points = {pair: each["score"] for pair, each in found.items()}
    assert points == {("s", "old"): 70, ("s", "new"): 100, ("v", "old"): 40, ("v", "new"): 70}


# --- insights, by hand --------------------------------------------------------------------------------------------


def test_insights_of_a_small_day() -> None:
    records = [
        job("j1", BEGIN),
        search("s1", 1, BEGIN + 1000), view("v1", 1, BEGIN + 6000, of="s1"), view("v2", 1, BEGIN + 9000, of="s1"),
        view("v2", 1, BEGIN + 9000, of="s1"), view("v3", 1, BEGIN + 12_000, of="s1"),
        search("s2", 2, BEGIN + 2000, city="Cork"),
        search("s3", 1, BEGIN + 12_000 + 31 * MINUTE, city="Cork"),
        search("before", 3, BEGIN - 1),
    ]  # fmt: skip
    found = answer.insights(records, BEGIN, BEGIN + 86_400_000, RULES, gap_ms=30 * MINUTE)
    assert (found.searches, found.views, found.jobs, found.members) == (3, 3, 1, 2)
    assert found.funnel == (3, 3, 1, 1)
    assert [(each.name, each.views, each.viewers, each.jobs) for each in found.companies] == [("Kitelab", 3, 1, 1)]
    assert found.places == (("wine", "Cork", 2), ("wine", "Porto", 1))
    assert found.sessions.count == 3 and found.sessions.events == 6
    assert found.sessions.lengths == (2, 1, 0, 0, 0, 0)
    assert (found.recommendations, found.helped) == (4, 1)
    assert [(tip.job, tip.members) for tip in found.tips] == [("j1", 1)]


def test_a_pause_as_long_as_the_gap_does_not_end_a_session() -> None:
    gap = 30 * MINUTE
    records = [search("a", 1, BEGIN), search("b", 1, BEGIN + gap), search("c", 1, BEGIN + 2 * gap + 1)]
    assert answer.insights(records, BEGIN, BEGIN + 86_400_000, RULES, gap).sessions.count == 2


# --- the page -----------------------------------------------------------------------------------------------------


def some_insights() -> Insights:
    activity = Activity(7)
    records = [*activity.opening_jobs(BEGIN - 3_600_000, BEGIN, 50), *activity.history(BEGIN, BEGIN + 80_000_000, 3000)]
    return answer.insights(records, BEGIN, BEGIN + 86_400_000, Rules(), 30 * MINUTE)


def test_the_page_asks_nobody_for_anything() -> None:
    page = report.page(some_insights(), BEGIN)
    assert not re.search(r"(?:src|href|url|@import|https?:|<script|<link)", page)
    assert page.count("<svg") == 8
    assert page.count("<svg") == page.count("</svg>") and page.count("<section") == page.count("</section>")


def test_what_comes_from_data_cannot_become_html() -> None:
    name = "<script>alert(1)</script>"
    records = [job("j", BEGIN, company=name), view("v", 1, BEGIN + 1, company=name), search("s", 1, BEGIN, field=name)]
    page = report.page(answer.insights(records, BEGIN, BEGIN + 1000, RULES, MINUTE), BEGIN)
    assert name not in page and "&lt;script&gt;" in page


def test_a_day_without_anything_still_makes_a_page() -> None:
    page = report.page(answer.insights([], BEGIN, BEGIN + 86_400_000, RULES, MINUTE), BEGIN)
    assert "Nothing happened" in page and "NaN" not in page


@pytest.mark.parametrize(("most", "top"), [(0, 1), (7, 8), (10, 10), (13, 16), (1210, 1600), (99_000, 100_000)])
def test_an_axis_ends_at_a_round_number(most: float, top: float) -> None:
    assert nice_top(most) == top


def test_a_curve_stays_between_its_points() -> None:
    numbers = [float(n) for n in re.findall(r"-?\d+\.\d", smooth([(0, 0), (10, 50), (20, 50), (30, 10)]))]
    assert min(numbers[1::2]) >= 0 and max(numbers[1::2]) <= 50


# --- the e-mails --------------------------------------------------------------------------------------------------

DIGEST = digest.to_render(7, "Ada Berg", "ada@members.example", "Kitelab", [("cooper", "Porto", BEGIN)])


def test_a_digest_is_a_message_any_mail_program_reads() -> None:
    message: Any = message_from_bytes(digest.render(DIGEST, "2026-09-21", BEGIN), policy=default)
    assert message["Subject"] == "Kitelab posted a job"
    assert message["To"].addresses[0].addr_spec == "ada@members.example"
    assert message["Message-ID"] == "<digest.2026-09-21.7@barnabas.example>"
    assert "Cooper, Porto" in message.get_body(("plain",)).get_content()
    assert "<b>Cooper</b>" in message.get_body(("html",)).get_content()


def test_a_name_cannot_add_headers_or_html() -> None:
    evil = digest.to_render(7, "A <b>B</b>", "a@b.example", "<i>Co</i>", [("<script>", "Porto", BEGIN)])
    message: Any = message_from_bytes(digest.render(evil, "2026-09-21", BEGIN), policy=default)
    html = message.get_body(("html",)).get_content()
    assert "<script>" not in html and "<i>Co" not in html


class _Mail(socketserver.StreamRequestHandler):
    """As much SMTP as a client needs; takes whoever is not refused."""

    taken: list[bytes]
    refused = b"nobody@"

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        refuse = False
        while line := self.rfile.readline():
            word = line[:4].upper()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = iter(self.rfile.readline, b".\r\n")
                self.taken.append(b"".join(lines))
            refuse = word == b"RCPT" and self.refused in line
            self.wfile.write(b"550 no\r\n" if refuse else b"221 bye\r\n" if word == b"QUIT" else b"250 ok\r\n")


@pytest.fixture
def mail() -> Iterator[tuple[str, list[bytes]]]:
    taken: list[bytes] = []
    handler = type("Handler", (_Mail,), {"taken": taken})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}", taken
        server.shutdown()


def test_digests_are_sent_once_and_a_second_run_sends_nothing(tmp_path: Path, mail: tuple[str, list[bytes]]) -> None:
    server, taken = mail
    message = digest.render(DIGEST, "2026-09-21", BEGIN)
    assert digest.leave(tmp_path, [("a.eml", message)]) == 1
    assert digest.send(tmp_path, server) == 1
    assert len(taken) == 1 and b"Kitelab posted a job" in taken[0]
    assert (tmp_path / "sent" / "a.eml").exists() and not list(tmp_path.glob("*.eml"))
    assert digest.leave(tmp_path, [("a.eml", message)]) == 0
    assert digest.send(tmp_path, server) == 0 and len(taken) == 1


def test_one_address_that_is_refused_does_not_stop_the_others(tmp_path: Path, mail: tuple[str, list[bytes]]) -> None:
    server, taken = mail
    nobody = digest.to_render(8, "No Body", "nobody@members.example", "Kitelab", [("cooper", "Porto", BEGIN)])
    digest.leave(tmp_path, [("a.eml", digest.render(nobody, "d", BEGIN)), ("b.eml", digest.render(DIGEST, "d", BEGIN))])
    assert digest.send(tmp_path, server) == 1 and len(taken) == 1
    assert [file.name for file in tmp_path.glob("*.eml")] == ["a.eml"]


def test_no_mail_server_is_one_line_and_nothing_is_lost(tmp_path: Path) -> None:
    digest.leave(tmp_path, [("a.eml", digest.render(DIGEST, "d", BEGIN))])
    with pytest.raises(PipelineError, match="does not take the digests") as told:
        digest.send(tmp_path, "127.0.0.1:1")
    assert "\n" not in str(told.value) and str(tmp_path) in str(told.value)
    assert (tmp_path / "a.eml").exists()
    with pytest.raises(PipelineError, match="is not host:port"):
        digest.send(tmp_path, "host:port")


def test_few_steps_are_drawn_as_bars_and_a_fill_ends_at_its_curve() -> None:
    """A curve through one hour of data would show values that nobody counted."""
    ticks = [str(hour) for hour in range(24)]
    one_hour = [0.0] * 23 + [5.0]
    assert "C" not in charts.area("a day", ticks, [("views", "main", one_hour)]).replace("aria", "")
    whole = charts.area("a day", ticks, [("views", "main", [1.0, 5.0] * 12), ("jobs", "warm", [2.0, 1.0] * 12)])
    fills = [path for path in whole.split("<path ") if "fill-opacity" in path]
    assert len(fills) == 2
    assert all(path.count("C") == 2 * 23 for path in fills)  # the upper edge, and the lower one back
