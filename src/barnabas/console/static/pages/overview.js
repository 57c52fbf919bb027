// The first page: is everything well, how much comes and goes, what is busy, who is behind.
import { html } from "../lib/dom.js";
import { Chart } from "../lib/chart.js";
import { bytes, count, rate, seconds, whole } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { useHistory } from "../lib/history.js";
import { useLive } from "../lib/live.js";
import { Badge, Empty, Loading, Page, ProblemNotice } from "../lib/ui.js";

export function Overview() {
  const here = useHere();
  const [data, problem] = useLive(here.api("/overview"));
  if (!data) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  return html`<${Page} title="Overview">
    <${Troubles} troubles=${data.troubles} />
    <div class="tiles">
      <${Tile} label="Nodes up" value=${`${data.nodes.filter((each) => each.up).length} of ${data.nodes.length}`} href=${here.link("cluster")} />
      <${Tile} label="Topics" value=${whole(data.topics)} href=${here.link("topics")} />
      <${Tile} label="Partitions" value=${whole(data.partitions)} href=${here.link("topics")} />
      <${Tile} label="Groups" value=${whole(data.groups)} href=${here.link("groups")} />
      <${Tile} label="On disk" value=${bytes(data.bytes)} />
    </div>
    <div class="grid two"><${Throughput} /></div>
    <div class="grid two">
      <section class="panel"><h2>Busiest topics</h2>${data.busiest.length ? html`<ul class="ranks">${data.busiest.map((each) => html`<li key=${each.name}><a href=${here.link("topics", [each.name])}>${each.name}</a><span>${rate(each.records_per_s)}</span></li>`)}</ul>` : html`<${Empty}>Nothing is written at the moment.<//>`}</section>
      <section class="panel"><h2>Groups furthest behind</h2>${data.behind.length ? html`<ul class="ranks">${data.behind.map((each) => html`<li key=${each.name}><a href=${here.link("groups", [each.name])}>${each.name}</a><span><b>${seconds(each.seconds)}</b> <small>${count(each.lag)} records</small></span></li>`)}</ul>` : html`<${Empty}>Every group has read everything.<//>`}</section>
    </div>
    <section class="panel"><h2>Nodes</h2><ul class="nodes">${data.nodes.map((each) => html`<li key=${each.id}><${Badge} kind=${each.up ? "good" : "bad"}>${each.up ? "up" : "down"}<//> <b>node ${each.id}</b> <span class="dim">${each.host}:${each.port}${each.rack ? ` · ${each.rack}` : ""}</span> <span class="dim">leads ${whole(each.leads)}</span></li>`)}</ul></section>
  <//>`;
}

const Tile = ({ label, value, href }) => html`<a class="tile" href=${href}><span>${label}</span><b>${value}</b></a>`;

function Troubles({ troubles }) {
  const here = useHere();
  if (!troubles.length) return html`<div class="notice good" role="status"><div><strong>All is well.</strong> Every partition has its leader and all its replicas.</div></div>`;
  return html`<ul class="troubles">${troubles.map((each) => html`<li key=${each.what} class=${`notice ${each.severity}`}><div><strong>${each.what}.</strong> ${each.way_out}.</div>${each.page && html`<a href=${here.link(each.page)}>Look</a>`}</li>`)}</ul>`;
}

function Throughput() {
  const history = useHistory(["in.records", "under-replicated"]);
  if (!history) return html`<${Loading} />`;
  return html`<${Chart} title="Records in, a second" data=${[history.time, history["in.records"]]} series=${[{ label: "in" }]} />
    <${Chart} title="Partitions with replicas out of sync" data=${[history.time, history["under-replicated"]]} series=${[{ label: "partitions", colour: "--chart-3" }]} format=${whole} />`;
}
