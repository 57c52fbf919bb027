// Cluster: nodes, partitions with trouble, the quorum, moves, settings of nodes.
import { html, useState } from "../../lib/dom.js";
import { send } from "../../lib/api.js";
import { whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { go } from "../../lib/router.js";
import { Settings } from "../../lib/settings.js";
import { Dialog, Form, Loading, Page, ProblemNotice, Table, Tabs, toast } from "../../lib/ui.js";
import { Moves, WorkNotice } from "./moves.js";
import { Nodes } from "./nodes.js";
import { PlanDialog } from "./plan.js";
import { Quorum } from "./quorum.js";
import { Trouble } from "./trouble.js";

export function Cluster() {
  const here = useHere();
  const [data, problem, reload] = useLive(here.api("/cluster"));
  const [doing, setDoing] = useState(null);
  const end = () => setDoing(null);
  const [tab = "nodes", node] = here.place.rest;
  if (!data) return problem ? html`<${Page} title="Cluster"><${ProblemNotice} problem=${problem} /><//>` : html`<${Loading} />`;
  const actions = here.mayChange && html`
    <button disabled=${!data.elsewhere_count} onClick=${() => setDoing({ what: "elect" })}>Elect preferred leaders${data.elsewhere_count ? ` (${whole(data.elsewhere_count)})` : ""}</button>
    <button class="primary" onClick=${() => setDoing({ what: "plan" })}>Balance …</button>`;
  const tabs = [["nodes", "Nodes"], ["partitions", "Partitions", data.trouble_count], ["quorum", "Quorum"], ["moves", "Moves", data.moves.length], ["settings", "Settings"]];
  return html`<${Page} title="Cluster" actions=${actions}>
    <p class="facts dim">${data.cluster_id && html`<span class="mono">${data.cluster_id}</span> · `}${whole(data.topics)} topics · ${whole(data.partitions)} partitions</p>
    <${Tabs} label="Parts of the cluster" tabs=${tabs} now=${tab} link=${(key) => here.link("cluster", key === "nodes" ? [] : [key])} />
    ${tab !== "moves" && data.work?.busy && html`<${WorkNotice} work=${data.work} />`}
    ${tab === "nodes" && html`<${Nodes} data=${data} onDrain=${(id) => setDoing({ what: "plan", drain: id })} onDone=${reload} />`}
    ${tab === "partitions" && html`<${Trouble} data=${data} />`}
    ${tab === "quorum" && html`<${Quorum} data=${data} />`}
    ${tab === "moves" && html`<${Moves} data=${data} onDone=${reload} />`}
    ${tab === "settings" && html`<${NodeSettings} nodes=${data.nodes} chosen=${node} />`}
    ${doing?.what === "plan" && html`<${PlanDialog} drain=${doing.drain} onClose=${end} onDone=${() => { end(); reload(); go(here.link("cluster", ["moves"])); }} />`}
    ${doing?.what === "elect" && html`<${Elect} rows=${data.elsewhere} count=${data.elsewhere_count} onClose=${end} onDone=${() => { end(); toast("leaders were elected"); reload(); }} />`}
  <//>`;
}

const ELECTED = [
  { key: "topic", title: "Partition", wide: true, show: (row) => `${row.topic}-${row.partition}` },
  { key: "leader", title: "Led by", number: true },
  { key: "preferred", title: "Will be led by", number: true },
];

function Elect({ rows, count, onClose, onDone }) {
  const here = useHere();
  const [kept] = useState(rows); // what was shown is what is done, whatever the next look brings
  const partitions = kept.map(({ topic, partition }) => ({ topic, partition }));
  return html`<${Dialog} title="Elect preferred leaders" onClose=${onClose} wide>
    <${Form} submit=${`Elect leaders of ${whole(kept.length)} partitions`} onCancel=${onClose} onDone=${onDone} onSubmit=${() => send("POST", here.api("/cluster/elections"), { partitions })}>
      <p>These partitions are not led by their first replica although it is up and in sync. Clients follow the new leader by themselves.${count > kept.length ? ` The first ${whole(kept.length)} of ${whole(count)}.` : ""}</p>
      <${Table} label="Partitions" id=${(row) => `${row.topic}-${row.partition}`} rows=${kept} columns=${ELECTED} step=${50} />
    <//><//>`;
}

function NodeSettings({ nodes, chosen }) {
  const here = useHere();
  const brokers = nodes.filter((each) => each.broker !== false);
  const now = chosen ?? String(brokers[0]?.id ?? "all");
  return html`<div class="tools"><label class="field"><span>Settings of</span><select value=${now} onChange=${(event) => go(here.link("cluster", ["settings", event.target.value]))}>
      ${brokers.map((each) => html`<option key=${each.id} value=${String(each.id)}>node ${each.id}</option>`)}<option value="all">every node</option></select></label>
    ${now === "all" && html`<span class="dim">What was set for all nodes at once; a node's own value goes before it.</span>`}</div>
    <${Settings} key=${now} path=${here.api(`/cluster/nodes/${encodeURIComponent(now)}/settings`)} mayChange=${here.mayChange} />`;
}
