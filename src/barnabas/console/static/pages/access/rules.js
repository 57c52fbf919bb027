// Rules (ACLs): who may do what.
import { html, useMemo, useState } from "../../lib/dom.js";
import { send } from "../../lib/api.js";
import { whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { Badge, Dialog, Field, Filter, Form, Loading, ProblemNotice, Table, toast } from "../../lib/ui.js";

const idOf = (row) => [row.resource, row.principal, row.host, row.operation, row.permission].join("|");
const bare = (row) => row.principal.replace(/^User:/, "");

export function Rules({ operations }) {
  const here = useHere();
  const [rules, problem, reload] = useLive(here.api("/access/rules"), { every: 5 });
  const [wanted, setWanted] = useState(here.place.query.user ?? "");
  const [permission, setPermission] = useState("");
  const [doing, setDoing] = useState(null);
  const rows = useMemo(() => (rules ?? []).filter((each) => (!permission || each.permission === permission) && `${each.principal} ${each.operation} ${each.resource} ${each.host}`.toLowerCase().includes(wanted.toLowerCase())), [rules, wanted, permission]);
  const columns = useMemo(() => [
    { key: "principal", title: "Who", wide: true, show: (row) => (row.principal === "User:*" ? html`<b>everybody</b>` : html`<b>${bare(row)}</b>`) },
    { key: "permission", title: "May", show: (row) => html`<${Badge} kind=${row.permission === "allow" ? "good" : "bad"}>${row.permission}<//>` },
    { key: "operation", title: "Operation" },
    { key: "resource", title: "On", wide: true, show: (row) => html`<span class="mono">${row.resource}</span>${row.pattern === "prefixed" && html` <${Badge} title="every name that begins so">prefix<//>`}` },
    { key: "host", title: "From", show: (row) => (row.host === "*" ? html`<span class="dim">anywhere</span>` : row.host) },
    ...(here.mayChange ? [{ key: "actions", title: "", show: (row) => html`<div class="row-actions"><button aria-label=${`Remove ${row.permission} ${row.operation} on ${row.resource} of ${row.principal}`} onClick=${() => setDoing({ what: "remove", rows: [row] })}>Remove …</button></div>` }] : []),
  ], [here.mayChange]);
  if (!rules) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  const end = () => setDoing(null);
  return html`<div class="tools"><${Filter} label="Filter rules" value=${wanted} onInput=${setWanted} />
      <label class="check">Permission <select value=${permission} onChange=${(event) => setPermission(event.target.value)}><option value="">any</option><option>allow</option><option>deny</option></select></label>
      <span class="dim">${whole(rows.length)} of ${whole(rules.length)}</span>
      ${here.mayChange && html`<div class="actions"><button class="primary" onClick=${() => setDoing({ what: "add" })}>Add rules</button></div>`}</div>
    <${Table} label="Rules" id=${idOf} rows=${rows} columns=${columns} empty=${rules.length ? "No rule is like that." : "There is no rule yet: only super users may do anything. Add one here, or with: barnabas acl add USER read topic:NAME"} />
    ${doing?.what === "add" && html`<${Add} operations=${operations} user=${here.place.query.user ?? ""} onClose=${end} onDone=${(done) => { toast(`added ${done.added} rules`); end(); reload(); }} />`}
    ${doing?.what === "remove" && html`<${Remove} rows=${doing.rows} onClose=${end} onDone=${() => { toast("removed"); end(); reload(); }} />`}`;
}

export const sentence = (row) => `${row.principal === "User:*" ? "everybody" : bare(row)} ${row.permission === "allow" ? "may" : "may not"} ${row.operation} ${row.resource}${row.host === "*" ? "" : ` from ${row.host}`}`;

function Remove({ rows, onClose, onDone }) {
  const here = useHere();
  const rules = rows.map(({ resource, ...rule }) => rule);
  return html`<${Dialog} title="Remove a rule" onClose=${onClose}>
    <${Form} danger submit="Remove" onCancel=${onClose} onDone=${onDone} onSubmit=${() => send("DELETE", here.api("/access/rules"), { rules })}>
      <p>This rule is removed, on every node at once:</p><ul>${rows.map((row) => html`<li key=${idOf(row)}><b>${sentence(row)}</b></li>`)}</ul>
    <//><//>`;
}

const KINDS = [["producer", "all that a producer needs"], ["consumer", "all that a consumer needs"], ["transactional", "transactions"], ["rule", "one operation on a resource"]];

function Add({ operations, user, onClose, onDone }) {
  const here = useHere();
  const [kind, setKind] = useState("producer");
  const [type, setType] = useState("topic");
  const text = (form, name) => (form.get(name) ?? "").trim();
  const submit = (form) => send("POST", here.api("/access/rules"), {
    user: text(form, "user"), kind, permission: text(form, "permission"), host: text(form, "host") || "*",
    topic: text(form, "topic"), group: text(form, "group"), transactional_id: text(form, "transactional"),
    resource: type === "cluster" ? "cluster" : `${type}:${text(form, "name")}`, operations: form.getAll("operation"),
  });
  return html`<${Dialog} title="Add rules" onClose=${onClose}>
    <${Form} submit="Add" onSubmit=${submit} onDone=${onDone} onCancel=${onClose}>
      <${Field} label="User" hint="* is everybody."><input name="user" required defaultValue=${user} autofocus autocomplete="off" spellcheck=${false} /><//>
      <${Field} label="What for"><select name="kind" value=${kind} onChange=${(event) => setKind(event.target.value)}>${KINDS.map(([key, title]) => html`<option key=${key} value=${key}>${title}</option>`)}</select><//>
      ${(kind === "producer" || kind === "consumer") && html`<${Field} label="Topic" hint="orders-* is every topic that begins so, * every topic."><input name="topic" required autocomplete="off" spellcheck=${false} /><//>`}
      ${kind === "consumer" && html`<${Field} label="Group" hint="billing-* is every group that begins so."><input name="group" required autocomplete="off" spellcheck=${false} /><//>`}
      ${(kind === "producer" || kind === "transactional") && html`<${Field} label=${kind === "producer" ? "Transactional id (where it has one)" : "Transactional id"}><input name="transactional" required=${kind === "transactional"} autocomplete="off" spellcheck=${false} /><//>`}
      ${kind === "rule" && html`<div class="grid two"><${Field} label="Resource"><select name="type" value=${type} onChange=${(event) => setType(event.target.value)}>${Object.keys(operations).map((each) => html`<option key=${each}>${each}</option>`)}</select><//>
        ${type !== "cluster" && html`<${Field} label="Name" hint="A * at its end: a prefix."><input name="name" required autocomplete="off" spellcheck=${false} /><//>`}</div>
        <${Field} label="Operation"><select name="operation" key=${type}>${operations[type].map((each) => html`<option key=${each}>${each}</option>`)}</select><//>`}
      <div class="grid two"><${Field} label="Permission"><select name="permission"><option value="allow">allow</option><option value="deny">deny (goes before every allow)</option></select><//>
        <${Field} label="From address"><input name="host" placeholder="anywhere" autocomplete="off" spellcheck=${false} /><//></div>
    <//><//>`;
}
