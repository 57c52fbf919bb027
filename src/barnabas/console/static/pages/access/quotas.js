// Quotas of users, client ids and addresses.
import { html, useMemo, useState } from "../../lib/dom.js";
import { send } from "../../lib/api.js";
import { bytes, rate, seconds, whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { Badge, Dialog, Field, Form, Loading, ProblemNotice, Table, toast } from "../../lib/ui.js";

const RATES = [
  ["producer_byte_rate", "Produce", "1MB/s"], ["consumer_byte_rate", "Fetch", "2MiB/s"], ["request_percentage", "Requests", "50%"],
  ["controller_mutation_rate", "Partitions", "10/s"], ["connection_creation_rate", "Connections", "10/s"],
];
const WORDS = { user: ["user", "every user"], "client-id": ["client", "every client id"], ip: ["address", "every address"] };
const who = (entity) => Object.entries(entity).map(([kind, name]) => (name === null ? WORDS[kind]?.[1] ?? kind : `${WORDS[kind]?.[0] ?? kind} ${name}`)).join(", ");
const amount = (key, value) => (value === undefined ? html`<span class="dim">–</span>` : key.endsWith("byte_rate") ? `${bytes(value)}/s` : key === "request_percentage" ? `${value} %` : `${value}/s`);

export function Quotas() {
  const here = useHere();
  const [quotas, problem, reload] = useLive(here.api("/access/quotas"), { every: 5 });
  const [doing, setDoing] = useState(null);
  const columns = useMemo(() => [
    { key: "who", title: "Whose", wide: true, sort: (row) => who(row.entity), show: (row) => html`<b>${who(row.entity)}</b>` },
    ...RATES.map(([key, title]) => ({ key, title, number: true, sort: (row) => row.values[key], show: (row) => amount(key, row.values[key]) })),
    ...(here.mayChange ? [{ key: "actions", title: "", show: (row) => html`<div class="row-actions"><button aria-label=${`Change quotas of ${who(row.entity)}`} onClick=${() => setDoing({ what: "set", row })}>Change …</button><button aria-label=${`Remove quotas of ${who(row.entity)}`} onClick=${() => setDoing({ what: "remove", row })}>Remove …</button></div>` }] : []),
  ], [here.mayChange]);
  if (!quotas) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  const end = () => setDoing(null);
  const done = () => { toast("quotas were changed"); end(); reload(); };
  return html`<div class="tools"><span class="dim">They hold on each node by itself; of several that fit, the most exact one counts.</span>
      ${here.mayChange && html`<div class="actions"><button class="primary" onClick=${() => setDoing({ what: "set" })}>Set quota</button></div>`}</div>
    <${Table} label="Quotas" id=${(row) => who(row.entity)} rows=${quotas} columns=${columns} empty="There is no quota: everybody may use as much as there is. Set one here, or with: barnabas quota set USER --produce 1MB/s" />
    <${Throttled} />
    ${doing?.what === "set" && html`<${Change} row=${doing.row} onClose=${end} onDone=${done} />`}
    ${doing?.what === "remove" && html`<${Dialog} title="Remove quotas" onClose=${end}><${Form} danger submit="Remove" onCancel=${end} onDone=${done}
      onSubmit=${() => send("PUT", here.api("/access/quotas"), { entity: doing.row.entity, values: Object.fromEntries(Object.keys(doing.row.values).map((key) => [key, null])) })}>
      <p>The quotas of <b>${who(doing.row.entity)}</b> are removed. A less exact one may count then.</p><//><//>`}`;
}

const WAITING = [
  { key: "rule", title: "Rule of", wide: true, show: (row) => html`<b>${row.rule}</b>` },
  { key: "quota", title: "Quota" },
  { key: "per_second", title: "Now", number: true, sort: (row) => row.per_second, show: (row) => (row.per_second ? html`<${Badge} kind="warning">${rate(row.per_second, "answers")}<//>` : html`<span class="dim">nobody</span>`) },
  { key: "times", title: "Answers so far", number: true, show: (row) => whole(row.times) },
  { key: "seconds", title: "Waited together", number: true, show: (row) => seconds(row.seconds) },
];

function Throttled() {
  const here = useHere();
  const [data] = useLive(here.api("/access/throttled"));
  if (!data) return null;
  if (!data.rows) return html`<p class="dim below">Who is throttled is shown here when the nodes serve metrics (metrics.listeners) that you may read; on a node's machine <code>barnabas quota list --now</code> tells it.</p>`;
  return html`<h2 class="below">Throttled</h2><${Table} label="Throttled" id=${(row) => `${row.quota}-${row.rule}`} rows=${data.rows} columns=${WAITING} sortBy="per_second" descending empty="Nobody has been made to wait since the nodes were started." />`;
}

const ENTITIES = [["user", "a user"], ["client-id", "a client id"], ["user,client-id", "a user with a client id"], ["ip", "an address"]];

function Change({ row, onClose, onDone }) {
  const here = useHere();
  const [kind, setKind] = useState(row ? Object.keys(row.entity).join(",") : "user");
  const kinds = kind.split(",");
  const rates = RATES.filter(([key]) => kinds.includes("ip") === (key === "connection_creation_rate"));
  const submit = (form) => {
    const entity = row?.entity ?? Object.fromEntries(kinds.map((each) => [each, form.get(each).trim() || null]));
    const values = Object.fromEntries(rates.map(([key]) => [key, form.get(key).trim()]).filter(([key, value]) => value || row?.values[key] !== undefined).map(([key, value]) => [key, value || null]));
    return send("PUT", here.api("/access/quotas"), { entity, values });
  };
  const shown = (key) => (row?.values[key] === undefined ? "" : key === "request_percentage" ? `${row.values[key]}%` : String(row.values[key]));
  return html`<${Dialog} title=${row ? `Quotas of ${who(row.entity)}` : "Set quota"} onClose=${onClose}>
    <${Form} submit="Set" onSubmit=${submit} onDone=${onDone} onCancel=${onClose}>
      ${!row && html`<${Field} label="Whose"><select name="kind" value=${kind} onChange=${(event) => setKind(event.target.value)}>${ENTITIES.map(([key, title]) => html`<option key=${key} value=${key}>${title}</option>`)}</select><//>
        ${kinds.map((each) => html`<${Field} key=${each} label=${{ user: "User", "client-id": "Client id", ip: "Address" }[each]} hint="Empty: each one that has no quota of its own."><input name=${each} autocomplete="off" spellcheck=${false} /><//>`)}`}
      <div class="grid two">${rates.map(([key, title, example]) => html`<${Field} key=${key} label=${title}><input name=${key} defaultValue=${shown(key)} placeholder=${`no limit; such as ${example}`} autocomplete="off" /><//>`)}</div>
    <//><//>`;
}
