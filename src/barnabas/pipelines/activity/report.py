"""The day's insights as one page: what happened, in figures, in sentences and in charts, whole in itself.

The page opens with what a person would say first, then the figures, then the charts behind them. It holds no script and
asks nobody for anything, so it can be mailed, archived and opened from a disk. It follows the reader into dark mode and
onto paper.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape

from barnabas.pipelines.activity import charts
from barnabas.pipelines.activity.insights import FUNNEL, Company, Hour, Insights

STYLE = """
:root{color-scheme:light dark;--ink:#18202e;--soft:#667085;--line:#e3e8ef;--card:#fff;--ground:#f3f5f9;--main:#3b5bdb;
--cool:#0c8599;--warm:#e8890c;--good:#2b8a3e;--hero1:#1b2559;--hero2:#3b5bdb;--track:#edf0f6}
@media(prefers-color-scheme:dark){:root{--ink:#e6eaf2;--soft:#93a0b4;--line:#2a3342;--card:#171e2a;--ground:#0f141d;
--main:#7c96ff;--cool:#3bc9db;--warm:#ffb454;--good:#69db7c;--hero1:#141b3d;--hero2:#2a3f9e;--track:#222b3a}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);
font:15px/1.55 Inter,"Segoe UI",system-ui,-apple-system,sans-serif;-webkit-font-smoothing:antialiased}
header{background:linear-gradient(120deg,var(--hero1),var(--hero2));color:#fff;padding:44px 0 92px}
header>div,main{max-width:1000px;margin:0 auto}header>div{padding:0 20px}
header h1{font-size:32px;letter-spacing:-.02em;margin:0 0 6px}
header p{margin:0;opacity:.82}main{padding:0 20px 56px;margin-top:-60px}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:12px}
.tile,.card{background:var(--card);border:1px solid var(--line);border-radius:14px;
box-shadow:0 1px 2px rgba(16,24,40,.05)}
.tile{padding:16px 18px}.tile b{display:block;font-size:27px;line-height:1.2;letter-spacing:-.02em;
font-variant-numeric:tabular-nums}.tile span{color:var(--soft);font-size:13px}
.card{padding:20px 22px 18px;margin-top:14px;break-inside:avoid}.card h2{font-size:16px;margin:0 0 2px}
.card>p{color:var(--soft);font-size:13.5px;margin:0 0 14px}.two{display:grid;grid-template-columns:1fr 1fr;gap:14px}
.two .card{margin-top:14px}ul.said{list-style:none;margin:0;padding:0;display:grid;gap:9px}
ul.said li{padding-left:20px;position:relative}ul.said li::before{content:"";position:absolute;left:2px;top:9px;
width:8px;height:8px;border-radius:50%;background:var(--main)}ul.said li:nth-child(3n+2)::before{background:var(--warm)}
ul.said li:nth-child(3n)::before{background:var(--cool)}
.key{display:flex;gap:16px;font-size:13px;color:var(--soft);margin:-6px 0 8px}
.key i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}
svg{display:block;overflow:visible}svg .tick{font-size:11.5px;fill:var(--soft)}
svg .label{font-size:13px;fill:var(--ink)}svg .strong{font-weight:650}svg .grid{stroke:var(--line)}
svg .track{fill:var(--track)}footer{color:var(--soft);font-size:13px;margin-top:26px}
code{background:var(--track);border-radius:5px;padding:1px 6px;font-size:12.5px}
@media(max-width:760px){.tiles{grid-template-columns:1fr 1fr}.two{grid-template-columns:1fr}}
@media print{header{padding-bottom:80px;-webkit-print-color-adjust:exact;print-color-adjust:exact}}
"""
LENGTHS = ("under 10 s", "10-30 s", "30-60 s", "1-5 min", "5-30 min", "longer")
HEAT_ROWS = 10
HOUR_MS = 3_600_000


def page(found: Insights, made_at_ms: int) -> str:
    title = "What members did"
    parts = [_tiles(found), _said(found)]
    if found.hours:
        parts.append(_hours(found.hours))
    parts.append(_two(_funnel(found), _companies(found)))
    parts.append(_two(_demand(found), _places(found)))
    if found.fields:
        parts.append(_heat(found))
    parts.append(_two(_sessions(found), _recommended(found)))
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
    return (
        f'<!doctype html><html lang="en"><head>{head}<title>{title}, {_day(found.begin_ms)}</title>'
        f"<style>{STYLE}</style></head><body><header><div><h1>{title}</h1><p>{escape(_range(found))}</p></div></header>"
        f"<main>{''.join(parts)}<footer>Made {_moment(made_at_ms)} UTC from the log by "
        f"<code>barnabas pipeline run activity --later</code>. Times are UTC, by when things happened.</footer>"
        f"</main></body></html>\n"
    )


def sentences(found: Insights) -> list[str]:
    """What a person would say first."""
    said = []
    busiest = max(found.hours, key=lambda hour: hour.members, default=None)
    if busiest is not None and len(found.hours) > 1:
        said.append(f"The busiest hour began at {_clock(busiest.begin_ms)}, with {busiest.members:,} members active.")
    wanted = [field for field in found.fields if field.searches >= 10]
    if wanted:
        scarce = max(wanted, key=lambda field: field.searches / (field.jobs + 1))
        jobs = f"{scarce.jobs} {'job' if scarce.jobs == 1 else 'jobs'}" if scarce.jobs else "no job at all"
        said.append(f"{scarce.name.capitalize()} is short of offers: {scarce.searches:,} searches met {jobs}.")
    if found.funnel and found.funnel[0]:
        looked = found.funnel[2] / found.funnel[0]
        empty = 1 - found.funnel[1] / found.funnel[0]
        said.append(f"{looked:.0%} of searches led to a look at a company; {empty:.0%} found nothing.")
    if found.companies:
        first = found.companies[0]
        said.append(f"{first.name} drew the most eyes: {first.views:,} views by {first.viewers:,} members.")
    if found.searches:
        helped = found.helped / found.searches
        said.append(
            f"{helped:.0%} of searches were answered with at least one job, {found.recommendations:,} tips in all."
        )
    return said


def _tiles(found: Insights) -> str:
    helped = f"{found.helped / found.searches:.0%}" if found.searches else "-"
    tiles = (
        (f"{found.members:,}", "active members"),
        (f"{found.searches:,}", "searches"),
        (f"{found.views:,}", "company views"),
        (f"{found.jobs:,}", "jobs posted"),
        (f"{found.recommendations:,}", "recommendations"),
        (helped, "of searches got one"),
        (f"{found.sessions.count:,}", "sessions"),
        (_length(found.sessions.median_s), "median session"),
    )
    return f'<div class="tiles">{"".join(f"<div class=tile><b>{b}</b><span>{s}</span></div>" for b, s in tiles)}</div>'


def _said(found: Insights) -> str:
    items = "".join(f"<li>{escape(each)}</li>" for each in sentences(found))
    nothing = "<li>Nothing happened in this time.</li>"
    return f'<section class="card"><h2>In short</h2><p></p><ul class="said">{items or nothing}</ul></section>'


def _hours(hours: tuple[Hour, ...]) -> str:
    """Every hour of the range has its place, also one in which nothing happened."""
    known = {hour.begin_ms: hour for hour in hours}
    first, last = hours[0].begin_ms, hours[-1].begin_ms
    all_hours = [known.get(at, Hour(at, 0, 0, 0, 0)) for at in range(first, last + 1, HOUR_MS)]
    if len(all_hours) == 1:
        all_hours = [Hour(first - HOUR_MS, 0, 0, 0, 0), *all_hours, Hour(first + HOUR_MS, 0, 0, 0, 0)]
    layers = (
        ("searches", "main", [hour.searches for hour in all_hours]),
        ("views", "cool", [hour.views for hour in all_hours]),
    )
    chart = charts.area("events by hour", [_clock(hour.begin_ms) for hour in all_hours], layers)
    key = _key(("main", "searches"), ("cool", "views"))
    return _card("Through the day", "Searches and company views in each hour, by when they happened.", key + chart)


def _funnel(found: Insights) -> str:
    chart = charts.funnel("from search to view", list(zip(FUNNEL, found.funnel, strict=False)))
    return _card("From search to view", "How far a search takes a member.", chart)


def _companies(found: Insights) -> str:
    rows = [(each.name, float(each.views), _views(each)) for each in found.companies]
    return _card(
        "Most viewed companies", "Views, by how many members, and jobs posted.", charts.bars("companies", rows)
    )


def _views(company: Company) -> str:
    jobs = f", {company.jobs} {'job' if company.jobs == 1 else 'jobs'}" if company.jobs else ""
    return f"{company.views:,} by {company.viewers:,}{jobs}"


def _demand(found: Insights) -> str:
    rows = [
        (each.name, float(each.searches), float(each.jobs), f"{each.searches:,} : {each.jobs:,}")
        for each in found.fields[:10]
    ]
    key = _key(("main", "searches"), ("warm", "jobs posted"))
    return _card("Wanted and offered", "Searches beside job posts, by field.", key + charts.pairs("demand", rows))


def _places(found: Insights) -> str:
    rows = [(f"{field}, {city}", float(count), f"{count:,}") for field, city, count in found.places]
    chart = charts.bars("searches", rows, "cool", left=150)
    return _card("What members look for", "The searches made most often.", chart)


def _heat(found: Insights) -> str:
    rows = [(field.name, field.by_hour) for field in found.fields[:HEAT_ROWS]]
    chart = charts.heat("searches by field and hour", rows, [f"{hour:02d}" for hour in range(24)])
    return _card("When which field is searched", "Searches by field and hour of the day (UTC).", chart)


def _sessions(found: Insights) -> str:
    chart = charts.columns("length of sessions", list(zip(LENGTHS, found.sessions.lengths, strict=True)))
    each = found.sessions.events / found.sessions.count if found.sessions.count else 0
    return _card("How long a session lasts", f"{each:.1f} searches and views in a session, on average.", chart)


def _recommended(found: Insights) -> str:
    per = found.recommendations / found.members if found.members else 0
    rows = [(each.title, float(each.members), f"{each.company}, {each.members:,}") for each in found.tips]
    chart = charts.bars("jobs", rows, "warm", left=150) if rows else ""
    told = f"To how many members a job was recommended; {per:.1f} recommendations for each active member."
    return _card("Most recommended jobs", told, chart)


def _card(title: str, told: str, body: str) -> str:
    return f'<section class="card"><h2>{escape(title)}</h2><p>{escape(told)}</p>{body}</section>'


def _two(left: str, right: str) -> str:
    return f'<div class="two">{left}{right}</div>'


def _key(*entries: tuple[str, str]) -> str:
    items = "".join(
        f'<span><i style="background:var(--{colour})"></i>{escape(name)}</span>' for colour, name in entries
    )
    return f'<div class="key">{items}</div>'


def _when(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def _day(at_ms: int) -> str:
    return _when(at_ms).strftime("%-d %B %Y")


def _clock(at_ms: int) -> str:
    return _when(at_ms).strftime("%H:%M")


def _moment(at_ms: int) -> str:
    return _when(at_ms).strftime("%-d %B %Y, %H:%M")


def _range(found: Insights) -> str:
    return f"{_moment(found.begin_ms)} to {_moment(found.end_ms)} UTC"


def _length(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
