// Who may do this? Every user with the rule that decides, by the code that the cluster decides with.
import { html, useState } from "../../lib/dom.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { go } from "../../lib/router.js";
import { Badge, Loading, ProblemNotice, Table } from "../../lib/ui.js";

const COLUMNS = [
  { key: "principal", title: "Who", wide: true, show: (row) => html`<b>${row.principal.replace(/^User:/, "")}</b>` },
  { key: "allowed", title: "Answer", sort: (row) => (row.allowed ? 0 : 1), show: (row) => html`<${Badge} kind=${row.allowed ? "good" : "bad"}>${row.allowed ? "may" : "may not"}<//>` },
  { key: "why", title: "Why", wide: true },
];

export function WhoMay({ operations }) {
  const here = useHere();
  const query = here.place.query;
  const [type, setType] = useState((query.resource ?? "topic").split(":")[0]);
  const asked = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const resource = type === "cluster" ? "cluster" : `${type}:${form.get("name").trim()}`;
    go(here.link("access", ["who"], { resource, operation: form.get("operation"), host: form.get("host").trim() }));
  };
  return html`<form class="tools labelled" onSubmit=${asked} aria-label="Who may do this">
      <label class="field"><span>Operation</span><select name="operation" key=${type}>${(operations[type] ?? []).filter((each) => each !== "all").map((each) => html`<option key=${each} selected=${each === query.operation}>${each}</option>`)}</select></label>
      <label class="field"><span>Resource</span><select value=${type} onChange=${(event) => setType(event.target.value)}>${Object.keys(operations).map((each) => html`<option key=${each}>${each}</option>`)}</select></label>
      ${type !== "cluster" && html`<label class="field"><span>Name</span><input name="name" required defaultValue=${(query.resource ?? "").split(":").slice(1).join(":")} autocomplete="off" spellcheck=${false} /></label>`}
      <label class="field"><span>From address</span><input name="host" class="short" defaultValue=${query.host ?? ""} placeholder="127.0.0.1" autocomplete="off" /></label>
      <button class="primary">Ask</button></form>
    ${query.resource ? html`<${Answer} resource=${query.resource} operation=${query.operation} host=${query.host} />` : html`<p class="dim">Name an operation and a resource: every user is listed with the rule that decides.</p>`}`;
}

function Answer({ resource, operation, host }) {
  const here = useHere();
  const [data, problem] = useLive(here.api("/access/who", { resource, operation, host }), { every: 15 });
  if (!data) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  const may = data.who.filter((each) => each.allowed).length;
  return html`<p>${may} of ${data.who.length} may ${operation} ${resource}${host ? ` from ${host}` : ""}.</p>
    <${Table} label="Who may do this" id=${(row) => row.principal} rows=${data.who} columns=${COLUMNS} sortBy="allowed" />`;
}
