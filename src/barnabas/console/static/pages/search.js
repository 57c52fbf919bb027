// Search of a whole topic: every record, with progress, until it is done or somebody ends it.
import { html, useEffect, useRef, useState } from "../lib/dom.js";
import { refusal } from "../lib/api.js";
import { bytes, moment, rate, whole } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { useLive } from "../lib/live.js";
import { go } from "../lib/router.js";
import { Bar, Empty, Field, Notice, Page } from "../lib/ui.js";
import { RedriveFound } from "./sending.js";
import { EXPRESSION_HINT, FILTERS, OneRecord, Records, line, save } from "./messages.js";

const local = (ms) => (ms ? moment(Number(ms)).slice(0, 19).replace(" ", "T") : ""); // as a field for a time has it
const KINDS = [...FILTERS, ["key", "Key, exactly"]];

export function Search() {
  const here = useHere();
  const query = here.place.query;
  const [topics] = useLive(here.api("/topics"), { every: 1e9 });
  const [kind, setKind] = useState(query.kind ?? "text");
  const [run, setRun] = useState(0);
  const ask = (more) => go(here.link("search", [], { ...query, ...more }), { replace: true });
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const time = (name) => (form.get(name) ? new Date(form.get(name)).getTime() : undefined);
    go(here.link("search", [], { topic: form.get("topic"), kind: kind === "text" ? undefined : kind, pattern: form.get("pattern"), ignore_case: form.get("ignore_case") ? "1" : undefined, since: time("since"), until: time("until") }));
    setRun(run + 1);
  };
  if (!here.maySeeRecords) return html`<${Page} title="Search"><${Notice} kind="plain">You may see topics, but not their records. Your role is “${here.role}”.<//><//>`;
  return html`<${Page} title="Search">
    <form class="panel search" onSubmit=${submit}>
      <div class="grid two"><${Field} label="Topic"><input name="topic" list="topics" required defaultValue=${query.topic ?? ""} autocomplete="off" spellcheck=${false} /><//>
        <datalist id="topics">${(topics?.topics ?? []).slice(0, 2000).map((each) => html`<option key=${each.name} value=${each.name}></option>`)}</datalist>
        <${Field} label="By"><select value=${kind} onChange=${(event) => setKind(event.target.value)}>${KINDS.map(([key, title]) => html`<option key=${key} value=${key}>${title}</option>`)}</select><//></div>
      <${Field} label="What" hint=${kind === "where" ? EXPRESSION_HINT : kind === "key" ? "The whole key." : "In key, value and headers."}><input name="pattern" data-filter required defaultValue=${query.pattern ?? ""} autocomplete="off" spellcheck=${false} /><//>
      <div class="tools"><label class="check"><input type="checkbox" name="ignore_case" value="1" defaultChecked=${query.ignore_case === "1"} disabled=${kind === "where" || kind === "key"} /> upper and lower case alike</label>
        <label class="check">from <input type="datetime-local" step="1" name="since" defaultValue=${local(query.since)} aria-label="From a time" /></label><label class="check">to <input type="datetime-local" step="1" name="until" defaultValue=${local(query.until)} aria-label="To a time" /></label>
        <button class="primary" type="submit">Search</button></div>
    </form>
    ${query.topic && query.pattern ? html`<${Running} key=${`${run}|${query.topic}|${query.pattern}|${query.kind}|${query.ignore_case}|${query.since}|${query.until}`} query=${query} ask=${ask} />` : html`<${Empty}>A search looks at every record of a topic, millions of them a second, and says when it has seen all. The same from a terminal: barnabas grep TOPIC PATTERN<//>`}
    ${query.record && query.topic && html`<${OneRecord} topic=${query.topic} partition=${query.record.split("-")[0]} offset=${query.record.split("-")[1]} onClose=${() => ask({ record: undefined })} />`}
  <//>`;
}

function Running({ query, ask }) {
  const here = useHere();
  const [state, setState] = useState({ records: [], told: null, problem: "", ended: false });
  const [again, setAgain] = useState(false);
  const source = useRef(null);
  const began = useRef(Date.now());
  const took = useRef(0);
  const end = () => { source.current?.close(); setState((last) => ({ ...last, ended: true })); };
  useEffect(() => {
    const { topic, kind, pattern, ignore_case: ignoreCase, since, until } = query;
    const path = here.api(`/topics/${encodeURIComponent(topic)}/search`, { kind, pattern, ignore_case: ignoreCase, since, until });
    const stream = (source.current = new EventSource(path));
    const failed = (problem) => setState((last) => ({ ...last, ended: true, problem: last.problem || problem }));
    stream.addEventListener("found", (event) => {
      const told = JSON.parse(event.data);
      took.current = (Date.now() - began.current) / 1000;
      setState((last) => ({ ...last, told, records: told.records.length ? [...last.records, ...told.records] : last.records, ended: told.done }));
      if (told.done) stream.close();
    });
    stream.addEventListener("ended", (event) => { stream.close(); setState((last) => ({ ...last, ended: true, problem: JSON.parse(event.data).error })); });
    stream.onerror = async () => { // never begun anew by itself
      const refused = stream.readyState === EventSource.CLOSED;
      stream.close();
      failed((refused && (await refusal(path))?.message) || "the console does not answer");
    };
    return () => stream.close();
  }, []);
  const { told, records, problem, ended } = state;
  const speed = told && took.current > 0.2 ? `, ${rate(told.examined / took.current, "records")}` : "";
  return html`${problem && html`<${Notice}>${problem}<//>`}
    ${told && html`<div class="panel" role="status"><div class="tools"><b>${whole(told.found)} found</b><span class="dim">${told.done ? "all" : ""} ${whole(told.examined)} records looked at (${bytes(told.bytes)}${speed})${told.done ? ": complete" : ended ? ": ended before its end" : ""}</span>
        ${!ended && html`<button onClick=${end}>End</button>`}
        ${told.done && told.found > 0 && here.mayChange && html`<button onClick=${() => setAgain(true)}>Send all again …</button>`}
        ${records.length > 0 && html`<button onClick=${() => save(`${query.topic}-found.jsonl`, records.map(line).join("\n") + "\n")}>Download what is shown</button>`}</div>
      <${Bar} share=${told.done ? 1 : told.share} label="Progress of the search" />
      ${told.found > records.length && html`<p class="dim">The first ${whole(records.length)} are shown; all ${whole(told.found)} are counted.</p>`}
      ${told.lost > 0 && html`<p>${whole(told.lost)} records were deleted by retention before they could be read.</p>`}
      ${told.unreadable > 0 && html`<p>${whole(told.unreadable)} batches could not be read.</p>`}</div>`}
    <${Records} topic=${query.topic} records=${records} ask=${ask} query=${query} page="search" empty=${told?.done ? "Nothing was found, and everything was looked at." : ""} />
    ${again && html`<${RedriveFound} query=${query} onClose=${() => setAgain(false)} />`}`;
}
