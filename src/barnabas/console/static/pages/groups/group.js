// One group: its members and what they own, how far every partition is read, its lag of the last hour; reset, delete.
import { html, useMemo, useState } from "../../lib/dom.js";
import { send } from "../../lib/api.js";
import { Chart } from "../../lib/chart.js";
import { count, seconds, whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { go } from "../../lib/router.js";
import { Badge, ConfirmByName, Empty, Loading, Notice, Page, ProblemNotice, Table, toast } from "../../lib/ui.js";
import { Reset } from "./reset.js";
import { useHistory } from "../../lib/history.js";

export const stateKind = (state) => ({ Stable: "good", Empty: "", Dead: "bad" })[state] ?? "warning";
export const KIND_TITLES = {
  classic: "members agree by the classic protocol",
  consumer: "the coordinator assigns partitions (KIP-848)",
  share: "members share partitions (KIP-932)",
  spark: "shows how far a Spark query is; nobody joins it",
};

export function Group({ name }) {
  const here = useHere();
  const [data, problem, reload] = useLive(here.api("/group", { group: name }));
  const [open, setOpen] = useState(null);
  const close = () => setOpen(null);
  const crumb = html`<a href=${here.link("groups")}>Groups</a> <span class="dim">/</span> ${name}`;
  if (!data) return html`<${Page} title=${crumb}>${problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`}<//>`;
  const topics = [...new Set(data.partitions.map((each) => each.topic))];
  const unmovable = data.kind === "spark" || data.kind === "share";
  const actions = here.mayChange && html`
    ${!unmovable && html`<button onClick=${() => setOpen({ reset: topics[0] ?? "" })}>Reset …</button>`}
    <button class="danger" onClick=${() => setOpen({ remove: true })}>Delete …</button>`;
  return html`<${Page} title=${crumb} actions=${actions}>
    ${problem && html`<${ProblemNotice} problem=${problem} />`}
    <${Tiles} data=${data} />
    ${data.kind === "spark" && html`<${Notice} kind="plain">A Spark query shows here how far it is. It goes on from its own checkpoint, so moving the group would not move the query.<//>`}
    <div class="grid two"><${Lag} name=${name} /></div>
    <section><h2>Members</h2><${Members} data=${data} /></section>
    <section><h2>Partitions</h2><${Partitions} data=${data} onReset=${!unmovable && ((topic) => setOpen({ reset: topic }))} onForget=${(topic) => setOpen({ forget: topic })} /></section>
    ${open?.reset !== undefined && html`<${Reset} group=${name} topics=${topics} topic=${open.reset} onClose=${close} onDone=${() => { close(); reload(); }} />`}
    ${open?.remove && html`<${ConfirmByName} title="Delete the group" name=${name} submit="Delete" onClose=${close}
      what="Its committed offsets are deleted. Programs that read as this group begin anew, where their auto.offset.reset says."
      onSubmit=${() => send("DELETE", here.api("/group", { group: name }))} onDone=${() => { toast(`deleted ${name}`); go(here.link("groups")); }} />`}
    ${open?.forget && html`<${ConfirmByName} title=${`Delete the offsets in ${open.forget}`} name=${open.forget} submit="Delete offsets" onClose=${close}
      what=${`The group ${name} forgets how far it has read ${open.forget}; other topics stay as they are.`}
      onSubmit=${() => send("DELETE", here.api("/group/offsets", { group: name, topic: open.forget }))} onDone=${() => { close(); reload(); toast(`deleted the offsets of ${name} in ${open.forget}`); }} />`}
  <//>`;
}

function Tiles({ data }) {
  const here = useHere();
  const known = data.partitions.filter((each) => each.lag !== null);
  const lag = known.length ? known.reduce((sum, each) => sum + each.lag, 0) : null;
  const ages = data.partitions.map((each) => each.seconds).filter((each) => each !== null);
  return html`<div class="tiles">
    <div class="tile"><span>State</span><b><${Badge} kind=${stateKind(data.state)}>${data.state}<//></b></div>
    <div class="tile"><span>Kind</span><b><${Badge} title=${KIND_TITLES[data.kind]}>${data.kind}<//></b> <small>${data.assignor}</small></div>
    <div class="tile"><span>Members</span><b>${data.unknown_members ? "–" : whole(data.members.length)}</b></div>
    <div class="tile"><span>Lag, records</span><b>${count(lag)}</b></div>
    <div class="tile"><span>Behind</span><b>${ages.length ? seconds(Math.max(...ages)) : "–"}</b></div>
    <a class="tile" href=${here.link("cluster")}><span>Coordinator</span><b>node ${data.coordinator}</b></a>
  </div>`;
}

function Lag({ name }) {
  const history = useHistory([`group:${name}:lag`, `group:${name}:seconds`]);
  if (!history) return html`<${Loading} />`;
  return html`<${Chart} title="Lag in records" data=${[history.time, history[`group:${name}:lag`]]} series=${[{ label: "records" }]} />
    <${Chart} title="Lag in seconds: age of the first unread record" data=${[history.time, history[`group:${name}:seconds`]]} series=${[{ label: "seconds", colour: "--chart-1" }]} format=${seconds} />`;
}

// "orders 0-3, 7; views 1": consecutive partitions together.
export function owned(partitions) {
  const topics = new Map();
  for (const [topic, index] of partitions) topics.set(topic, [...(topics.get(topic) ?? []), index]);
  return [...topics].map(([topic, indexes]) => {
    const runs = [];
    for (const index of indexes.sort((a, b) => a - b)) {
      if (runs.length && runs.at(-1)[1] === index - 1) runs.at(-1)[1] = index;
      else runs.push([index, index]);
    }
    return `${topic} ${runs.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ")}`;
  }).join("; ");
}

function Members({ data }) {
  const columns = useMemo(() => [
    { key: "client_id", title: "Client", wide: true, show: (row) => html`${row.client_id || "–"} ${row.instance_id && html`<${Badge} title="static member: group.instance.id">${row.instance_id}<//>`}<br /><small class="mono">${row.id}</small>` },
    { key: "host", title: "Host", show: (row) => row.host || "–" },
    { key: "count", title: "Partitions", number: true, sort: (row) => row.partitions.length, show: (row) => whole(row.partitions.length) },
    { key: "owns", title: "Owns", wide: true, sort: (row) => owned(row.partitions), show: (row) => html`${owned(row.partitions) || html`<span class="dim">nothing</span>`}${row.moving_to && html`<br /><small>moving to ${owned(row.moving_to) || "nothing"}</small>`}` },
  ], []);
  if (data.unknown_members) return html`<${Notice} kind="plain">${data.unknown_members}<//>`;
  if (!data.members.length) return html`<${Empty}>${data.kind === "spark" ? "A Spark query reads without joining a group." : "Nobody reads as this group now. It goes on from its committed offsets when somebody does."}<//>`;
  return html`<${Table} label="Members" id=${(row) => row.id} rows=${data.members} columns=${columns} />`;
}

function Partitions({ data, onReset, onForget }) {
  const here = useHere();
  const members = useMemo(() => new Map(data.members.map((each) => [each.id, each])), [data]);
  const columns = useMemo(() => [
    { key: "topic", title: "Topic", wide: true, sort: (row) => `${row.topic} ${String(row.partition).padStart(6, "0")}`, show: (row) => html`<a href=${here.link("topics", [row.topic])}>${row.topic}</a>` },
    { key: "partition", title: "Partition", number: true },
    { key: "committed", title: "Committed", number: true, show: (row) => whole(row.committed) },
    { key: "end", title: "End", number: true, show: (row) => whole(row.end) },
    { key: "lag", title: "Lag", number: true, show: (row) => whole(row.lag) },
    { key: "seconds", title: "Behind", number: true, show: (row) => seconds(row.seconds) },
    { key: "member", title: "Owner", sort: (row) => members.get(row.member)?.client_id, show: (row) => { const owner = members.get(row.member); return owner ? html`<span title=${owner.id}>${owner.instance_id || owner.client_id} <span class="dim">${owner.host}</span></span>` : html`<span class="dim">–</span>`; } },
  ], [here.cluster, members]);
  if (!data.partitions.length) return html`<${Empty}>The group has committed nothing, and owns nothing.<//>`;
  const topics = [...new Set(data.partitions.filter((each) => each.committed !== null).map((each) => each.topic))];
  return html`${here.mayChange && topics.length > 0 && html`<div class="tools">${topics.slice(0, 20).map((topic) => html`<span key=${topic} class="pair"><b>${topic}</b>
      ${onReset && html`<button class="link" aria-label=${`Reset ${topic}`} onClick=${() => onReset(topic)}>reset</button>`}
      <button class="link" aria-label=${`Delete offsets of ${topic}`} onClick=${() => onForget(topic)}>delete offsets</button></span>`)}</div>`}
    <${Table} label="Partitions" id=${(row) => `${row.topic}-${row.partition}`} rows=${data.partitions} columns=${columns} />`;
}
