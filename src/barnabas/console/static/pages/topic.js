// One topic: its messages, partitions, groups and settings, and what can be done with it.
import { html, useState } from "../lib/dom.js";
import { get, send } from "../lib/api.js";
import { Chart } from "../lib/chart.js";
import { bytes, count, rate, seconds, whole } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { useHistory } from "../lib/history.js";
import { useLive } from "../lib/live.js";
import { go } from "../lib/router.js";
import { Settings } from "../lib/settings.js";
import { Badge, ConfirmByName, Dialog, Field, Form, Loading, Page, ProblemNotice, Table, toast } from "../lib/ui.js";
import { Messages } from "./messages.js";

const TABS = [["messages", "Messages"], ["partitions", "Partitions"], ["groups", "Groups"], ["settings", "Settings"]];

export function OneTopic({ name, tab }) {
  const here = useHere();
  const path = `/topics/${encodeURIComponent(name)}`;
  const [data, problem, reload] = useLive(here.api(path));
  const [doing, setDoing] = useState("");
  const end = () => setDoing("");
  if (!data) return problem ? html`<${Page} title=${name}><${ProblemNotice} problem=${problem} /><p><a href=${here.link("topics")}>All topics</a></p><//>` : html`<${Loading} />`;
  const records = data.partitions.reduce((sum, each) => sum + Math.max(0, (each.end ?? 0) - (each.start ?? 0)), 0);
  const actions = html`<button onClick=${() => go(here.link("search", [], { topic: name }))}>Search all of it</button>
    ${here.mayChange && !data.internal && html`<button onClick=${() => setDoing("grow")}>Add partitions</button><button onClick=${() => setDoing("purge")}>Purge</button><button class="danger" onClick=${() => setDoing("delete")}>Delete</button>`}`;
  return html`<${Page} title=${html`<span class="mono">${name}</span>`} actions=${actions}>
    <p class="facts dim"><a href=${here.link("topics")}>Topics</a> · ${whole(data.partitions.length)} partitions · ${count(records)} records · ${bytes(data.bytes)} · ${rate(data.records_per_s)} ${data.internal && html`<${Badge}>internal<//>`}</p>
    <nav class="tabs" aria-label="Parts of the topic">${TABS.map(([key, title]) => html`<a key=${key} href=${here.link("topics", [name, key])} aria-current=${key === tab ? "page" : undefined}>${title}</a>`)}</nav>
    ${tab === "messages" && html`<${Messages} topic=${name} partitions=${data.partitions.length} />`}
    ${tab === "partitions" && html`<${Partitions} data=${data} />`}
    ${tab === "groups" && html`<${Groups} groups=${data.groups} />`}
    ${tab === "settings" && html`<${Settings} path=${here.api(`${path}/settings`)} mayChange=${here.mayChange} />`}
    ${doing === "grow" && html`<${Grow} name=${name} now=${data.partitions.length} path=${here.api(`${path}/partitions`)} onClose=${end} onDone=${() => { end(); toast("partitions were added"); reload(); }} />`}
    ${doing === "purge" && html`<${Purge} name=${name} path=${here.api(`${path}/purge`)} onClose=${end} onDone=${() => { end(); toast(`purged ${name}`); reload(); }} />`}
    ${doing === "delete" && html`<${ConfirmByName} title="Delete topic" name=${name} submit="Delete for ever" onClose=${end} what=${`Its ${count(records)} records and its settings are gone then, on every node.${data.groups.length ? ` ${data.groups.length} groups read it.` : ""}`}
      onSubmit=${() => send("DELETE", here.api(path))} onDone=${() => { toast(`deleted ${name}`); go(here.link("topics")); }} />`}
  <//>`;
}

function Partitions({ data }) {
  const history = useHistory([`topic:${data.name}:records`]);
  const columns = [
    { key: "index", title: "Partition", number: true },
    { key: "leader", title: "Leader", number: true, show: (row) => (row.leader < 0 ? html`<${Badge} kind="bad">none<//>` : row.leader) },
    { key: "leader_epoch", title: "Epoch", number: true },
    { key: "replicas", title: "Replicas", show: (row) => row.replicas.map((each) => html`<${Badge} key=${each} kind=${row.in_sync.includes(each) ? "good" : "bad"} title=${row.in_sync.includes(each) ? "in sync" : "not in sync"}>${each}<//> `) },
    { key: "start", title: "First offset", number: true, show: (row) => whole(row.start) },
    { key: "end", title: "End offset", number: true, show: (row) => whole(row.end) },
    { key: "records", title: "Records", number: true, sort: (row) => (row.end ?? 0) - (row.start ?? 0), show: (row) => (row.end === null ? "–" : whole(Math.max(0, row.end - (row.start ?? 0)))) },
  ];
  return html`<div class="grid">${history && html`<${Chart} title="Records in, a second" data=${[history.time, history[`topic:${data.name}:records`]]} series=${[{ label: "in" }]} />`}</div>
    <${Table} label="Partitions" id=${(row) => row.index} rows=${data.partitions} columns=${columns} />`;
}

function Groups({ groups }) {
  const here = useHere();
  const columns = [
    { key: "name", title: "Group", wide: true, show: (row) => html`<a href=${here.link("groups", [row.name])}>${row.name}</a>` },
    { key: "state", title: "State" },
    { key: "partitions", title: "Partitions", number: true },
    { key: "lag", title: "Lag", number: true, show: (row) => count(row.lag) },
    { key: "seconds", title: "Behind", number: true, show: (row) => seconds(row.seconds) },
  ];
  return html`<${Table} label="Groups" id=${(row) => row.name} rows=${groups} columns=${columns} sortBy="lag" descending empty="No group has committed an offset of this topic." />`;
}

function Grow({ name, now, path, onClose, onDone }) {
  return html`<${Dialog} title="Add partitions" onClose=${onClose}>
    <${Form} submit="Add" onCancel=${onClose} onDone=${onDone} onSubmit=${(form) => send("POST", path, { partitions: Number(form.get("partitions")) })}>
      <p>${name} has ${now}. Records of a key may be in another partition from now on, so readers of compacted or keyed topics should know of it. Partitions cannot be taken away again.</p>
      <${Field} label="Partitions altogether"><input name="partitions" type="number" min=${now + 1} max="100000" defaultValue=${now * 2} required autofocus /><//>
    <//><//>`;
}

function Purge({ name, path, onClose, onDone }) {
  const [plan, problem] = useLive(path, { every: 1e9 });
  if (!plan) return html`<${Dialog} title="Purge" onClose=${onClose}>${problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`}<//>`;
  return html`<${ConfirmByName} title="Purge" name=${name} submit=${`Delete ${whole(plan.records)} records`} onClose=${onClose} onDone=${onDone}
    what=${`The ${whole(plan.records)} records that are in it now are deleted; what is written from now on stays, and so do the topic and its settings.`} onSubmit=${() => send("POST", path, { before: plan.before })} />`;
}
