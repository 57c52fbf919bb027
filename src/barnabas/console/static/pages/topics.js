// Topics: a list or a tree by name, favourites first, create; one topic is in topic.js.
import { html, useMemo, useState } from "../lib/dom.js";
import { send } from "../lib/api.js";
import { bytes, count, rate, seconds, whole } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { useLive } from "../lib/live.js";
import { go } from "../lib/router.js";
import { useKept } from "../lib/kept.js";
import { Badge, Dialog, Field, Filter, Form, Loading, Page, ProblemNotice, Table, toast } from "../lib/ui.js";
import { OneTopic } from "./topic.js";

export function Topics() {
  const here = useHere();
  return here.place.rest.length ? html`<${OneTopic} key=${here.place.rest[0]} name=${here.place.rest[0]} tab=${here.place.rest[1] ?? "messages"} />` : html`<${List} />`;
}

function List() {
  const here = useHere();
  const [data, problem] = useLive(here.api("/topics"));
  const [wanted, setWanted] = useState(here.place.query.name ?? "");
  const [internal, setInternal] = useKept("topics.internal", false);
  const [tree, setTree] = useKept("topics.tree", false);
  const [favourites, setFavourites] = useKept(`favourites.${here.cluster}`, []);
  const [creating, setCreating] = useState(false);
  const rows = useMemo(() => (data?.topics ?? []).filter((each) => (internal || !each.internal) && each.name.toLowerCase().includes(wanted.toLowerCase()))
    .map((each) => ({ ...each, favourite: favourites.includes(each.name) })), [data, wanted, internal, favourites]);
  const turn = (name) => setFavourites(favourites.includes(name) ? favourites.filter((each) => each !== name) : [...favourites, name]);
  const columns = useMemo(() => topicColumns(here, turn), [here.cluster, favourites]);
  if (!data) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  return html`<${Page} title="Topics" actions=${here.mayChange && html`<button class="primary" onClick=${() => setCreating(true)}>Create topic</button>`}>
    <div class="tools"><${Filter} label="Filter topics" value=${wanted} onInput=${setWanted} />
      <button aria-pressed=${tree} onClick=${() => setTree(!tree)}>Tree</button>
      <label class="check"><input type="checkbox" checked=${internal} onChange=${(event) => setInternal(event.target.checked)} /> internal ones too</label>
      <span class="dim">${whole(rows.length)} of ${whole(data.topics.length)}</span></div>
    ${tree ? html`<${Tree} rows=${rows} />` : html`<${Table} label="Topics" id=${(row) => row.name} rows=${rows} columns=${columns} sortBy="name" pinned=${(row) => row.favourite}
      empty=${data.topics.some((each) => !each.internal) ? "No topic has such a name." : "There is no topic yet. Create one here, or with: barnabas topic create NAME"} />`}
    ${creating && html`<${Create} nodes=${data.nodes} onClose=${() => setCreating(false)} />`}
  <//>`;
}

function topicColumns(here, turn) {
  return [
    { key: "favourite", title: "", unseen: "favourite", show: (row) => html`<button class="plain star" aria-pressed=${row.favourite} aria-label=${`Favourite ${row.name}`} onClick=${() => turn(row.name)}>${row.favourite ? "★" : "☆"}</button>` },
    { key: "name", title: "Topic", wide: true, show: (row) => html`<a href=${here.link("topics", [row.name])}>${row.name}</a>${row.offline > 0 && html` <${Badge} kind="bad">${row.offline} without leader<//>`}${!row.offline && row.under_replicated > 0 && html` <${Badge} kind="warning">${row.under_replicated} under-replicated<//>`}${row.internal && html` <${Badge}>internal<//>`}` },
    { key: "partitions", title: "Partitions", number: true, show: (row) => whole(row.partitions) },
    { key: "replication_factor", title: "Replicas", number: true },
    { key: "records", title: "Records", number: true, show: (row) => count(row.records) },
    { key: "bytes", title: "Size", number: true, show: (row) => bytes(row.bytes) },
    { key: "records_per_s", title: "Records/s", number: true, show: (row) => rate(row.records_per_s) },
    { key: "bytes_per_s", title: "Bytes/s", number: true, show: (row) => (row.bytes_per_s === null ? "–" : `${bytes(row.bytes_per_s)}/s`) },
    { key: "groups", title: "Groups", number: true },
    { key: "lag", title: "Lag", number: true, show: (row) => (row.groups ? count(row.lag) : "–") },
    { key: "lag_seconds", title: "Behind", number: true, show: (row) => seconds(row.lag_seconds) },
  ];
}

// orders.eu.paid and orders.us.paid under "orders", by the dots, dashes and underscores of their names.
function Tree({ rows }) {
  const root = useMemo(() => {
    const made = { children: new Map(), topics: 0, records_per_s: 0, bytes: 0 };
    for (const row of rows) {
      let node = made;
      const parts = row.name.split(/(?<=[.\-_])/);
      parts.forEach((part, index) => {
        if (!node.children.has(part)) node.children.set(part, { part, children: new Map(), topics: 0, records_per_s: 0, bytes: 0 });
        node = node.children.get(part);
        node.topics += 1; node.bytes += row.bytes; node.records_per_s += row.records_per_s ?? 0;
        if (index === parts.length - 1) node.row = row;
      });
    }
    return made;
  }, [rows]);
  return html`<div class="panel tree"><${Branch} node=${root} /></div>`;
}

function Branch({ node }) {
  const here = useHere();
  return html`<ul>${[...node.children.values()].sort((a, b) => a.part.localeCompare(b.part, "en", { numeric: true })).map((child) => {
    let [label, end] = [child.part, child];
    while (end.children.size === 1 && !end.row) { [end] = end.children.values(); label += end.part; } // a chain without forks is one line
    const numbers = html`<span class="dim">${rate(end.records_per_s)} · ${bytes(end.bytes)}</span>`;
    const name = end.row ? html`<a href=${here.link("topics", [end.row.name])}>${label}</a>` : html`<b>${label}</b>`;
    return html`<li key=${label}>${end.children.size ? html`<details open=${node.children.size < 8}><summary>${name} <span class="dim">${end.topics}</span> ${numbers}</summary><${Branch} node=${end} /></details>` : html`<div class="leaf">${name} ${numbers}</div>`}</li>`;
  })}</ul>`;
}

function Create({ nodes, onClose }) {
  const here = useHere();
  const create = async (form) => {
    const settings = Object.fromEntries([["cleanup.policy", form.get("policy")], ["retention.ms", form.get("retention")]].filter(([, value]) => value));
    await send("POST", here.api("/topics"), { name: form.get("name").trim(), partitions: Number(form.get("partitions")) || -1, replication_factor: Number(form.get("replicas")) || -1, settings });
    return form.get("name").trim();
  };
  return html`<${Dialog} title="Create topic" onClose=${onClose}>
    <${Form} submit="Create" onSubmit=${create} onCancel=${onClose} onDone=${(name) => { toast(`created ${name}`); onClose(); go(here.link("topics", [name])); }}>
      <${Field} label="Name" hint="Letters, digits, dots, dashes and underscores."><input name="name" required maxlength="249" pattern="[a-zA-Z0-9._\\-]+" autofocus autocomplete="off" spellcheck=${false} /><//>
      <div class="grid two"><${Field} label="Partitions" hint="How many consumers of a group can read at once."><input name="partitions" type="number" min="1" max="100000" placeholder="as the cluster has it" /><//>
      <${Field} label="Replicas" hint=${`There ${nodes === 1 ? "is 1 node" : `are ${nodes} nodes`}.`}><input name="replicas" type="number" min="1" max=${nodes} placeholder="as the cluster has it" /><//></div>
      <${Field} label="When records go"><select name="policy"><option value="">after the retention time</option><option value="compact">the newest of each key stays (compact)</option><option value="compact,delete">both</option></select><//>
      <${Field} label="Retention"><select name="retention"><option value="">as the cluster has it</option><option value="3600000">1 hour</option><option value="86400000">1 day</option><option value="604800000">7 days</option><option value="2592000000">30 days</option><option value="-1">for ever</option></select><//>
    <//><//>`;
}
