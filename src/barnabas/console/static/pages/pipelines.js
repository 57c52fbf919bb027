// Pipelines of this machine: how each goes, what it could not read, starting and stopping.
import { html, useState } from "../lib/dom.js";
import { send } from "../lib/api.js";
import { bytes, count, rate, seconds, whole } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { useLive } from "../lib/live.js";
import { Badge, Dialog, Empty, Field, Form, Loading, Notice, Page, ProblemNotice, Table, toast } from "../lib/ui.js";

export function Pipelines() {
  const here = useHere();
  const [data, problem, reload] = useLive(here.api("/pipelines"));
  const [starting, setStarting] = useState(null);
  if (!data) return html`<${Page} title="Pipelines">${problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`}<//>`;
  if (data.why_not) return html`<${Page} title="Pipelines"><${Empty}>${data.why_not}<//><//>`;
  const ran = new Map(data.runs.map((each) => [each.name, each]));
  const idle = data.pipelines.filter((each) => !ran.has(each.name));
  const active = (run) => run.parts.length > 0 || run.starting;
  const runs = [...data.runs].sort((a, b) => active(b) - active(a) || a.name.localeCompare(b.name));
  const offered = (name) => data.pipelines.find((each) => each.name === name);
  return html`<${Page} title="Pipelines">
    <${ProblemNotice} problem=${problem} />
    <p class="dim">They run on the console's machine and keep their progress in <code>${data.home}</code>.</p>
    ${!runs.length && html`<${Empty}>No pipeline has run here on this cluster yet. Start one below: it can write believable data for itself.<//>`}
    ${runs.map((run) => html`<${Run} key=${run.name} run=${run} offered=${offered(run.name)} onStart=${setStarting} reload=${reload} />`)}
    ${idle.length > 0 && html`<section class="panel"><h2>Ready to start</h2><ul class="ranks offers">${idle.map((each) => html`<li key=${each.name}><b>${each.name}</b><span class="about">${each.summary}</span>
      ${here.mayChange && html`<button aria-label=${`Start ${each.name}`} onClick=${() => setStarting(each)}>Start …</button>`}</li>`)}</ul></section>`}
    ${starting && html`<${Start} pipeline=${starting} onClose=${() => setStarting(null)} onDone=${() => { toast(`${starting.name} is starting`); setStarting(null); reload(); }} />`}
  <//>`;
}

function badge(run) {
  if (run.parts.some((each) => each.troubles.length || each.silent)) return html`<${Badge} kind="warning">in trouble<//>`;
  if (run.parts.some((each) => each.phase) || run.starting) return html`<${Badge}>${run.parts[0]?.phase || "starting"}<//>`;
  if (run.parts.length) return html`<${Badge} kind="good">running<//>`;
  return run.last_error ? html`<${Badge} kind="bad">failed<//>` : html`<${Badge}>stopped<//>`;
}

function Run({ run, offered, onStart, reload }) {
  const here = useHere();
  const [busy, setBusy] = useState(false);
  const stop = async () => {
    setBusy(true);
    try { await send("POST", here.api(`/pipelines/${encodeURIComponent(run.name)}/stop`)); toast(`stopped ${run.name}`); reload(); } catch (problem) { toast(`${problem.message} ${problem.wayOut}`, "bad"); }
    setBusy(false);
  };
  const active = run.parts.length > 0 || run.starting;
  return html`<section class="panel run" aria-label=${run.name}>
    <header class="row"><h2>${run.name}</h2>${badge(run)}<span class="about dim">${run.summary}</span>
      ${here.mayChange && (active ? html`<button disabled=${busy} aria-label=${`Stop ${run.name}`} onClick=${stop}>${busy ? "Stopping …" : "Stop"}</button>`
        : offered && html`<button aria-label=${`Start ${run.name}`} onClick=${() => onStart(offered)}>Start …</button>`)}</header>
    ${run.last_error && html`<${Notice}><strong>The last run failed:</strong> ${run.last_error}<//>`}
    ${run.parts.map((part) => html`<${Part} key=${part.part} part=${part} />`)}
    ${run.dead_letters.length + run.groups.length > 0 && html`<p class="links">${run.dead_letters.map((each) => html`<span key=${each.topic}><a href=${here.link("topics", [each.topic, "messages"])}>${each.topic}</a> <${Badge} kind=${each.records ? "warning" : ""}>${count(each.records)} ${each.records === 1 ? "dead letter" : "dead letters"}<//></span>`)}
      ${run.groups.map((each) => html`<a key=${each} href=${here.link("groups", [each])}>lag of ${each}</a>`)}</p>`}
    ${run.output.length > 0 && html`<details><summary>What it printed last</summary><pre tabindex="0">${run.output.join("\n")}</pre></details>`}
  </section>`;
}

const QUERY_COLUMNS = [
  { key: "name", title: "Query", wide: true },
  { key: "rows_per_s", title: "Rows/s", number: true, show: (row) => rate(row.rows_per_s) },
  { key: "rows", title: "Rows", number: true, show: (row) => count(row.rows) },
  { key: "batches", title: "Batches", number: true, show: (row) => whole(row.batches) },
  { key: "batch_ms", title: "Last batch", number: true, show: (row) => (row.batch_ms === null ? "–" : seconds(row.batch_ms / 1000)) },
  { key: "state_bytes", title: "State", number: true, show: (row) => bytes(row.state_bytes) },
  { key: "late", title: "Late rows", number: true, show: (row) => whole(row.late) },
];

function Part({ part }) {
  const figures = [
    ["Rows/s", rate(part.rows_per_s)], ["Rows", count(part.rows)], ["Last batch", part.batch_ms === null ? "–" : seconds(part.batch_ms / 1000)],
    ["Lag", count(part.lag)], ["Behind", seconds(part.seconds)], ["Results", count(part.results)], ["Dead letters", count(part.bad)], ["Late rows", count(part.late)], ["Up", seconds(part.up)],
  ];
  return html`${part.silent !== null && html`<${Notice} kind="warning">It has not told how it is for ${seconds(part.silent)}.<//>`}
    ${part.troubles.map((each) => html`<${Notice} key=${each.query} kind="warning"><strong>${each.query}:</strong> ${each.what}<//>`)}
    <dl class="figures">${figures.map(([label, value]) => html`<div key=${label}><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>
    <p class="dim">--${part.part}, process ${part.pid}${part.master && html`, Spark ${part.master}`}${part.ui && html`, <a href=${part.ui} target="_blank" rel="noreferrer">Spark's own pages</a>`}</p>
    ${part.queries.length > 0 && html`<${Table} label="Queries" id=${(row) => row.name} rows=${part.queries} columns=${QUERY_COLUMNS} sortBy="rows_per_s" descending />`}`;
}

function Start({ pipeline, onClose, onDone }) {
  const here = useHere();
  const [part, setPart] = useState(pipeline.now ? "now" : "later");
  const start = (form) => {
    const options = Object.fromEntries(pipeline.options.map((each) => [each.name, form.get(`option-${each.name}`)]).filter(([name, value]) => value !== pipeline.options.find((each) => each.name === name).default));
    const generate = part === "now" ? form.get("generate") : "";
    return send("POST", here.api(`/pipelines/${encodeURIComponent(pipeline.name)}/start`), { part, options, generate: generate ? Number(generate) : null });
  };
  const missing = pipeline.reads.filter((each) => !each.there).map((each) => each.topic);
  return html`<${Dialog} title=${`Start ${pipeline.name}`} onClose=${onClose}>
    <${Form} submit="Start" onSubmit=${start} onCancel=${onClose} onDone=${onDone}>
      <p>${pipeline.summary}.</p>
      <${Field} label="What to run"><select name="part" value=${part} onChange=${(event) => setPart(event.target.value)}>
        ${pipeline.now && html`<option value="now">the stream: ${pipeline.now}</option>`}${pipeline.later && html`<option value="later">the history: ${pipeline.later}</option>`}</select><//>
      ${part === "now" && pipeline.generates && html`<${Field} label="Believable data, records a second" hint=${missing.length ? `Empty for none; then ${missing.join(", ")} must be there.` : "Empty for none: it reads what others write."}><input name="generate" type="number" min="0.1" max="100000" step="any" placeholder="none" /><//>`}
      ${pipeline.options.length > 0 && html`<details><summary>Options</summary><div class="fields">${pipeline.options.map((each) => html`<${Field} key=${each.name} label=${each.name} hint=${each.help}><input name=${`option-${each.name}`} defaultValue=${each.default} autocomplete="off" spellcheck=${false} /><//>`)}</div></details>`}
    <//><//>`;
}
