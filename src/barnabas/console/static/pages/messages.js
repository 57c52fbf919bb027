// Messages of a topic: from any place, filtered, live; a table of chosen fields; one record whole.
import { html, useEffect, useMemo, useRef, useState } from "../lib/dom.js";
import { get, refusal } from "../lib/api.js";
import { ago, bytes, moment, whole } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { compact, field, parse, paths, written } from "../lib/json.js";
import { useKept } from "../lib/kept.js";
import { go } from "../lib/router.js";
import { Badge, copy, Dialog, Empty, Loading, Notice, ProblemNotice } from "../lib/ui.js";
import { Value } from "../lib/value.js";
import { Produce, Redrive } from "./sending.js";

const LIVE_KEPT = 500;
const SILENT = "the console does not answer; trying again";
const PLACES = [["newest", "Newest first"], ["beginning", "From the beginning"], ["time", "From a time"], ["offset", "From an offset"]];
export const FILTERS = [["text", "Text"], ["regex", "Regular expression"], ["where", "Expression"]];
export const EXPRESSION_HINT = '.price > 10 and .member.name == "ada"   ·   key ~ "^order-"   ·   headers["source"] == "shop"   ·   .tags[] in ["a", "b"]';

export function Messages({ topic, partitions }) {
  const here = useHere();
  const query = here.place.query;
  const [produced, setProduced] = useState(0);
  const ask = (more) => go(here.link("topics", [topic, "messages"], { ...query, page: undefined, ...more }), { replace: true });
  if (!here.maySeeRecords) return html`<${Notice} kind="plain">You may see topics, but not their records. Your role is “${here.role}”.<//>`;
  const [partition, offset] = (query.record ?? "").split("-");
  return html`<${Controls} topic=${topic} partitions=${partitions} query=${query} ask=${ask} onProduced=${() => setProduced(produced + 1)} />
    ${query.live ? html`<${Live} key=${`${query.partitions}|${query.filter}|${query.kind}`} topic=${topic} query=${query} ask=${ask} />` : html`<${Pages} topic=${topic} query=${query} ask=${ask} produced=${produced} />`}
    ${query.record && html`<${OneRecord} topic=${topic} partition=${partition} offset=${offset} onClose=${() => ask({ record: undefined })} />`}`;
}

function Controls({ topic, partitions, query, ask, onProduced }) {
  const here = useHere();
  const [producing, setProducing] = useState(false);
  const kind = query.from ?? "newest";
  const [draft, setDraft] = useState(query.filter ?? "");
  useEffect(() => setDraft(query.filter ?? ""), [query.filter]);
  const place = (from, at) => {
    if (from === "time") return at ? `time:${new Date(at).getTime()}` : undefined;
    if (from === "offset") {
      const chosen = query.partitions ? query.partitions.split(",") : [...Array(partitions).keys()];
      return at === undefined || at === "" ? undefined : `newer:${chosen.map((each) => `${each}=${Number(at)}`).join(",")}`;
    }
    return from === "newest" ? undefined : from;
  };
  return html`<form class="tools" onSubmit=${(event) => { event.preventDefault(); ask({ filter: draft || undefined }); }}>
      <label><span class="unseen">Begin</span><select value=${kind} disabled=${Boolean(query.live)} onChange=${(event) => ask({ from: event.target.value, at: undefined, place: place(event.target.value, "") })}>${PLACES.map(([key, title]) => html`<option key=${key} value=${key}>${title}</option>`)}</select></label>
      ${kind === "time" && html`<label><span class="unseen">Time</span><input type="datetime-local" step="1" value=${query.at ?? ""} onChange=${(event) => ask({ at: event.target.value, place: place("time", event.target.value) })} /></label>`}
      ${kind === "offset" && html`<label><span class="unseen">Offset</span><input type="number" min="0" class="short" placeholder="offset" value=${query.at ?? ""} onChange=${(event) => ask({ at: event.target.value, place: place("offset", event.target.value) })} /></label>`}
      <label><span class="unseen">Partition</span><select value=${query.partitions ?? ""} onChange=${(event) => ask({ partitions: event.target.value || undefined, place: undefined, from: undefined })}><option value="">All partitions</option>${[...Array(Math.min(partitions, 1000)).keys()].map((each) => html`<option key=${each} value=${each}>Partition ${each}</option>`)}</select></label>
      <label><span class="unseen">Kind of filter</span><select value=${query.kind ?? "text"} onChange=${(event) => ask({ kind: event.target.value === "text" ? undefined : event.target.value })}>${FILTERS.map(([key, title]) => html`<option key=${key} value=${key}>${title}</option>`)}</select></label>
      <label class="filter grow"><span class="unseen">Filter messages</span><input type="search" data-filter value=${draft} placeholder=${query.kind === "where" ? EXPRESSION_HINT : "Filter  ( / )"} spellcheck=${false} autocomplete="off" onInput=${(event) => { setDraft(event.target.value); if (!event.target.value) ask({ filter: undefined }); }} /></label>
      <button type="submit">Filter</button>
      <button type="button" class=${query.live ? "live" : ""} aria-pressed=${Boolean(query.live)} onClick=${() => ask({ live: query.live ? undefined : "1", place: undefined, from: undefined })}>${query.live ? "● Live" : "Live"}</button>
      ${here.mayChange && html`<button type="button" onClick=${() => setProducing(true)}>Produce</button>`}
    </form>${producing && html`<${Produce} topic=${topic} partitions=${partitions} onProduced=${onProduced} onClose=${() => setProducing(false)} />`}`;
}

// --- pages ---------------------------------------------------------------------------------------------------------------

function Pages({ topic, query, ask, produced }) {
  const here = useHere();
  const [state, setState] = useState({ data: null, problem: null, busy: true });
  const [again, setAgain] = useState(0);
  const path = here.api(`/topics/${encodeURIComponent(topic)}/messages`, { place: query.page ?? query.place, partitions: query.partitions, filter: query.filter, kind: query.kind, count: query.count ?? 50 });
  useEffect(() => {
    const abort = new AbortController();
    setState((last) => ({ data: last.data, problem: null, busy: true }));
    get(path, abort.signal).then((data) => setState({ data, problem: null, busy: false }), (problem) => problem.name !== "AbortError" && setState({ data: null, problem, busy: false }));
    return () => abort.abort();
  }, [path, again, produced]);
  const { data, problem, busy } = state;
  if (problem) return html`<${ProblemNotice} problem=${problem} />`;
  if (!data) return html`<${Loading} />`;
  const onward = data.backwards ? data.older : data.newer;
  const back = data.backwards ? data.newer : data.older;
  const turn = (page) => go(here.link("topics", [topic, "messages"], { ...query, page }));
  return html`<${Records} topic=${topic} records=${data.records} ask=${ask} query=${query} busy=${busy}
      empty=${data.looked_at ? `None of the ${whole(data.looked_at)} records fits.` : "No record is here."} />
    ${data.unreadable.map((each) => html`<${Notice} key=${each.first_offset} kind="warning">Partition ${each.partition}, offsets ${each.first_offset} to ${each.last_offset}: ${each.reason}<//>`)}
    <div class="tools"><button disabled=${!onward || data.at_end} onClick=${() => turn(onward)}>${data.backwards ? "Older" : "Newer"} →</button>
      ${query.page && html`<button onClick=${() => turn(undefined)}>← ${data.backwards ? "Newest" : "Begin"}</button>`}
      ${back && !query.page && !data.backwards && html`<button onClick=${() => turn(back)}>← Older</button>`}
      <button onClick=${() => setAgain(again + 1)}>Again</button>
      ${busy && html`<span class="dim" role="status">looking …</span>`}
      ${query.filter && !busy && html`<span class="dim">looked at ${whole(data.looked_at)} records${data.at_end ? ", which is all" : ""}. <a href=${here.link("search", [], { topic, kind: query.kind, pattern: query.filter })}>Search all of the topic</a></span>`}</div>`;
}

// --- live ----------------------------------------------------------------------------------------------------------------

function Live({ topic, query, ask }) {
  const here = useHere();
  const [state, setState] = useState({ records: [], dropped: 0, trouble: "", open: false });
  const [paused, setPaused] = useState(false);
  const stopped = useRef(false);
  stopped.current = paused;
  useEffect(() => {
    let [source, lastId, again, left] = [null, undefined, 0, false];
    const open = () => {
      const path = here.api(`/topics/${encodeURIComponent(topic)}/tail`, { partitions: query.partitions, filter: query.filter, kind: query.kind, from: lastId });
      source = new EventSource(path);
      source.addEventListener("records", came);
      source.addEventListener("ended", (event) => { tell(JSON.parse(event.data).error); source.close(); });
      source.onerror = async () => {
        if (source.readyState !== EventSource.CLOSED) return tell(SILENT); // the browser connects again by itself
        const problem = await refusal(path);
        const wrong = problem?.status >= 400 && problem.status < 500 && problem.status !== 401; // 401: a console that began anew
        tell(wrong ? problem.message : SILENT);
        if (!wrong && !left) again = setTimeout(open, 2000);
      };
    };
    const tell = (trouble) => setState((last) => ({ ...last, trouble }));
    const came = (event) => {
      const told = JSON.parse(event.data);
      lastId = event.lastEventId;
      setState((last) => ({ open: true, trouble: told.trouble, dropped: last.dropped + told.dropped,
        records: stopped.current ? last.records : [...told.records.reverse(), ...last.records].slice(0, LIVE_KEPT) }));
    };
    open();
    return () => { left = true; clearTimeout(again); source.close(); };
  }, []);
  return html`<p class="tools" role="status">${state.trouble ? html`<${Badge} kind="warning">${state.trouble}<//>` : html`<${Badge} kind="good">${state.open ? "waiting for records" : "connecting"}<//>`}
      <button onClick=${() => setPaused(!paused)}>${paused ? "Go on" : "Pause"}</button>
      <span class="dim">${whole(state.records.length)} shown${state.dropped ? `, ${whole(state.dropped)} passed over (more came than can be shown)` : ""}</span></p>
    <${Records} topic=${topic} records=${state.records} ask=${ask} query=${query} empty="New records appear here as they come." />`;
}

// --- a table of records ----------------------------------------------------------------------------------------------------

export function Records({ topic, records, ask, query, empty, busy = false, page = "topics" }) {
  const here = useHere();
  const [fields, setFields] = useKept(`fields.${here.cluster}.${topic}`, []);
  const [chosen, setChosen] = useState(new Map());
  const [redriving, setRedriving] = useState(false);
  const rows = useMemo(() => records.map((each) => ({ ...each, name: `${each.topic}-${each.partition}-${each.offset}`, tree: each.value.kind === "json" ? parse(each.value.text) : null })), [records]);
  const known = useMemo(() => [...new Set(rows.slice(0, 50).flatMap((each) => paths(each.tree)))].filter((each) => !fields.includes(each)), [rows, fields]);
  if (!rows.length) return html`<${Empty}>${empty}<//>`;
  const turn = (row) => { const next = new Map(chosen); if (!next.delete(row.name)) next.set(row.name, row); setChosen(next); };
  const all = rows.every((each) => chosen.has(each.name));
  return html`<div class="tools">
      <label><span class="unseen">Add a column</span><select value="" onChange=${(event) => event.target.value && setFields([...fields, event.target.value])}><option value="">Add a column …</option>${known.map((each) => html`<option key=${each}>${each}</option>`)}</select></label>
      ${fields.map((each) => html`<button key=${each} class="chip" title="Take this column away" aria-label=${`Take column ${each} away`} onClick=${() => setFields(fields.filter((one) => one !== each))}>${each} ✕</button>`)}
      ${chosen.size > 0 && html`<b>${chosen.size} chosen</b>
        <button onClick=${() => copy([...chosen.values()].map(line).join("\n"))}>Copy</button>
        <button onClick=${() => save(`${topic}.jsonl`, [...chosen.values()].map(line).join("\n") + "\n")}>Download</button>
        ${here.mayChange && html`<button onClick=${() => setRedriving(true)}>Send again …</button>`}`}</div>
    <div class=${`scroll messages ${busy ? "busy" : ""}`} tabindex="-1"><table aria-label="Messages"><thead><tr>
      <th scope="col"><span><input type="checkbox" aria-label="Choose all" checked=${all} onChange=${() => setChosen(all ? new Map() : new Map(rows.map((each) => [each.name, each])))} /></span></th>
      <th scope="col"><span>Time</span></th><th scope="col" class="number"><span>Partition</span></th><th scope="col" class="number"><span>Offset</span></th><th scope="col"><span>Key</span></th>
      ${fields.length ? fields.map((each) => html`<th scope="col" key=${each}><span>${each}</span></th>`) : html`<th scope="col" class="stretch"><span>Value</span></th>`}<th scope="col" class="number"><span>Size</span></th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.name}>
      <td><input type="checkbox" aria-label=${`Choose ${row.name}`} checked=${chosen.has(row.name)} onChange=${() => turn(row)} /></td>
      <td title=${`${moment(row.timestamp)}, ${ago(row.timestamp)}`}><${When} ms=${row.timestamp} /></td><td class="number">${row.partition}</td>
      <td class="number"><a href=${here.link(page, page === "topics" ? [row.topic, "messages"] : [], { ...query, record: `${row.partition}-${row.offset}` })}>${row.offset}</a></td>
      <td class="cell key">${row.key.kind === "null" ? html`<span class="dim">null</span>` : row.key.text.slice(0, 200)}</td>
      ${fields.length ? fields.map((each) => html`<td key=${each} class="cell">${compact(field(row.tree, each)).slice(0, 300)}</td>`) : html`<td class="cell">${row.value.kind === "null" ? html`<span class="dim">null: deletes the key</span>` : row.value.text.slice(0, 300)}</td>`}
      <td class="number">${bytes(row.value.bytes)}</td></tr>`)}</tbody></table></div>
    ${redriving && html`<${Redrive} topic=${topic} records=${[...chosen.values()]} onClose=${() => setRedriving(false)} onDone=${() => { setRedriving(false); setChosen(new Map()); }} />`}`;
}

// On a phone the day is left out, so that key and value have a place; the record shows it.
function When({ ms }) {
  const [day, time] = moment(ms).split(" ");
  return time ? html`<span class="day">${day} </span>${time}` : day;
}

const text = (shown) => (shown.kind === "null" ? "null" : JSON.stringify(shown.text));

// A line of JSON for a record; JSON values stand in it as they are.
export function line(row) {
  const value = row.value.kind === "json" && !row.value.truncated && row.tree ? written(row.tree) : text(row.value);
  const headers = row.headers.map((each) => `${JSON.stringify(each.name)}: ${text(each.value)}`).join(", ");
  return `{"topic": ${JSON.stringify(row.topic)}, "partition": ${row.partition}, "offset": ${row.offset}, "timestamp": ${row.timestamp}, "key": ${text(row.key)}, "value": ${value}, "headers": {${headers}}}`;
}

export function save(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: "application/x-ndjson" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// --- one record -------------------------------------------------------------------------------------------------------------

export function OneRecord({ topic, partition, offset, onClose }) {
  const here = useHere();
  const [state, setState] = useState({ record: null, problem: null });
  const [redriving, setRedriving] = useState(false);
  const path = `/topics/${encodeURIComponent(topic)}/messages/${encodeURIComponent(partition)}/${encodeURIComponent(offset)}`;
  useEffect(() => { get(here.api(path)).then((record) => setState({ record, problem: null }), (problem) => setState({ record: null, problem })); }, [path]);
  const { record, problem } = state;
  const title = html`<span class="mono">${topic}-${partition} @ ${offset}</span>`;
  if (!record) return html`<${Dialog} wide title=${title} onClose=${onClose}>${problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`}<//>`;
  const link = here.link("topics", [topic, "messages"], { record: `${partition}-${offset}` });
  return html`<${Dialog} wide title=${title} onClose=${onClose}>
    <div class="tools"><button onClick=${() => copy(record.value.text)}>Copy value</button><button onClick=${() => copy(new URL(link, location.href).href)}>Copy link</button>
      <a class="button" download href=${here.api(`${path}/download`)}>Download value</a>${here.mayChange && html`<button onClick=${() => setRedriving(true)}>Send again …</button>`}</div>
    <dl class="pairs"><dt>Time</dt><dd>${moment(record.timestamp)} <span class="dim">${record.timestamp_type === "append" ? "when it was appended" : "as the producer set it"}, ${ago(record.timestamp)}</span></dd>
      ${record.producer_id >= 0 && html`<dt>Producer id</dt><dd>${record.producer_id}</dd>`}<dt>Leader epoch</dt><dd>${record.leader_epoch}</dd></dl>
    <${Value} label="Key" shown=${record.key} /><${Value} label="Value" shown=${record.value} />
    ${record.headers.length > 0 && html`<h3>Headers</h3><dl class="pairs mono">${record.headers.map((each, index) => html`<dt key=${`n${index}`}>${each.name}</dt><dd key=${`v${index}`}>${each.value.kind === "null" ? html`<span class="dim">null</span>` : each.value.text}</dd>`)}</dl>`}
    ${redriving && html`<${Redrive} topic=${topic} records=${[record]} onClose=${() => setRedriving(false)} onDone=${() => setRedriving(false)} />`}
  <//>`;
}
