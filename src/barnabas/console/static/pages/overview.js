// The first page: is everything well, how much comes and goes, what is busy, who is behind.
import { html } from "../lib/dom.js";
import { Chart } from "../lib/chart.js";
import { bytes, count, rate, seconds, whole } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { useHistory } from "../lib/history.js";
import { useLive } from "../lib/live.js";
import { Badge, Empty, Loading, Page, ProblemNotice, Table } from "../lib/ui.js";

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
    <div class="grid two"><${Throughput} measured=${data.metrics} nodes=${data.nodes} /></div>
    <div class="grid two">
      <section class="panel"><h2>Busiest topics</h2>${data.busiest.length ? html`<ul class="ranks">${data.busiest.map((each) => html`<li key=${each.name}><a href=${here.link("topics", [each.name])}>${each.name}</a><span>${rate(each.records_per_s)}</span></li>`)}</ul>` : html`<${Empty}>Nothing is written at the moment.<//>`}</section>
      <section class="panel"><h2>Groups furthest behind</h2>${data.behind.length ? html`<ul class="ranks">${data.behind.map((each) => html`<li key=${each.name}><a href=${here.link("groups", [each.name])}>${each.name}</a><span><b>${seconds(each.seconds)}</b> <small>${count(each.lag)} records</small></span></li>`)}</ul>` : html`<${Empty}>Every group has read everything.<//>`}</section>
    </div>
    <h2>Nodes</h2><${Table} label="Nodes" id=${(row) => row.id} rows=${data.nodes} columns=${data.metrics ? [...NODE, ...MEASURED] : NODE} />
    ${!data.metrics && html`<p class="dim">Bytes, processor and memory show where nodes serve metrics (metrics.listeners; barnabas up --console sets it) and you may describe the cluster.</p>`}
  <//>`;
}

const NODE = [
  { key: "id", title: "Node", show: (row) => html`<b>${row.id}</b> <${Badge} kind=${row.up ? "good" : "bad"}>${row.up ? "up" : "down"}<//>` },
  { key: "host", title: "Address", wide: true, show: (row) => html`<span class="mono">${row.host}:${row.port}</span>${row.rack && html` <span class="dim">${row.rack}</span>`}` },
  { key: "leads", title: "Leads", number: true, show: (row) => whole(row.leads) },
];
const MEASURED = [
  { key: "bytes_in", title: "In", number: true, show: (row) => (row.bytes_in === undefined ? "–" : `${bytes(row.bytes_in)}/s`) },
  { key: "bytes_out", title: "Out", number: true, show: (row) => (row.bytes_out === undefined ? "–" : `${bytes(row.bytes_out)}/s`) },
  { key: "requests", title: "Requests", number: true, show: (row) => rate(row.requests) },
  { key: "p99_ms", title: "Produce p99", number: true, show: (row) => (row.p99_ms === undefined || row.p99_ms === null ? "–" : `${row.p99_ms.toFixed(1)} ms`) },
  { key: "cpu_percent", title: "Processor", number: true, show: (row) => (row.cpu_percent === undefined ? "–" : `${row.cpu_percent.toFixed(0)} %`) },
  { key: "memory_bytes", title: "Memory", number: true, show: (row) => bytes(row.memory_bytes) },
  { key: "connections", title: "Connections", number: true, show: (row) => whole(row.connections) },
];

const Tile = ({ label, value, href }) => html`<a class="tile" href=${href}><span>${label}</span><b>${value}</b></a>`;

function Troubles({ troubles }) {
  const here = useHere();
  if (!troubles.length) return html`<div class="notice good" role="status"><div><strong>All is well.</strong> Every partition has its leader and all its replicas.</div></div>`;
  return html`<ul class="troubles">${troubles.map((each) => html`<li key=${each.what} class=${`notice ${each.severity}`}><div><strong>${each.what}.</strong> ${each.way_out}.</div>${each.page && html`<a href=${here.link(each.page)}>Look</a>`}</li>`)}</ul>`;
}

function Throughput({ measured, nodes }) {
  const some = nodes.slice(0, 5).map((each) => each.id); // as many as there are colours
  const series = (name) => some.map((each) => `node:${each}:${name}`);
  const history = useHistory(measured ? ["in.records", "in.bytes", "out.bytes", ...series("cpu"), ...series("p99")] : ["in.records", "under-replicated"]);
  if (!history) return html`<${Loading} />`;
  const perNode = (name) => [history.time, ...series(name).map((each) => history[each])];
  const labels = some.map((each) => ({ label: `node ${each}` }));
  return html`<${Chart} title="Records in, a second" data=${[history.time, history["in.records"]]} series=${[{ label: "in" }]} />
    ${measured ? html`<${Chart} title="Bytes a second" data=${[history.time, history["in.bytes"], history["out.bytes"]]} series=${[{ label: "in" }, { label: "out" }]} format=${bytes} />
      <${Chart} title="Processor, % of a core" data=${perNode("cpu")} series=${labels} format=${(value) => `${value.toFixed(0)} %`} />
      <${Chart} title="Time of Produce, p99" data=${perNode("p99")} series=${labels} format=${(value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`} />`
    : html`<${Chart} title="Partitions with replicas out of sync" data=${[history.time, history["under-replicated"]]} series=${[{ label: "partitions", colour: "--chart-3" }]} format=${whole} />`}`;
}
