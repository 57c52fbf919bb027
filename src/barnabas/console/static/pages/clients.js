// Clients' own view: what they measure themselves and push to the nodes.
import { html, useMemo, useState } from "../lib/dom.js";
import { count, seconds, whole } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { useLive } from "../lib/live.js";
import { Empty, Filter, Loading, Page, ProblemNotice, Table } from "../lib/ui.js";

export function Clients() {
  const here = useHere();
  const [instance] = here.place.rest;
  return instance ? html`<${One} key=${instance} instance=${instance} />` : html`<${List} />`;
}

function List() {
  const here = useHere();
  const [data, problem] = useLive(here.api("/clients"));
  const columns = useMemo(() => [
    { key: "client_id", title: "Client", wide: true, show: (row) => html`<a href=${here.link("clients", [row.client_instance_id])}>${row.client_id || "(no client id)"}</a><br /><small class="mono">${row.client_instance_id}</small>` },
    { key: "software_name", title: "Software", show: (row) => `${row.software_name ?? ""} ${row.software_version ?? ""}` },
    { key: "client_address", title: "Address" },
    { key: "node", title: "Pushes to node", number: true },
    { key: "age", title: "Last push", number: true, show: (row) => (row.age === null ? "–" : `${seconds(row.age)} ago`) },
    { key: "series", title: "Series", number: true, show: (row) => whole(row.series) },
  ], [here.cluster]);
  if (!data) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  return html`<${Page} title="Clients">
    <p class="dim">What clients measure themselves: how long requests wait before they leave, how full buffers are, how long an application keeps poll waiting.</p>
    ${data.clients.length ? html`<${Table} label="Clients" id=${(row) => row.client_instance_id} rows=${data.clients} columns=${columns} />`
    : html`<${Empty}>${data.measured ? html`No client pushes metrics. Ask them to: <code>barnabas telemetry subscribe all '*' --every 10s</code>` : html`Nodes do not serve metrics here, or not to you. Set metrics.listeners, or start them with <code>barnabas up --console</code>.`}<//>`}
  <//>`;
}

function One({ instance }) {
  const here = useHere();
  const [data, problem] = useLive(here.api(`/clients/${encodeURIComponent(instance)}`));
  const [wanted, setWanted] = useState("");
  const rows = useMemo(() => (data?.series ?? []).map((each) => ({ ...each, labels: Object.entries(each.labels).map(([name, value]) => `${name}=${value}`).join("  ") })).filter((each) => `${each.name} ${each.labels}`.includes(wanted)), [data, wanted]);
  const columns = useMemo(() => [
    { key: "name", title: "Metric", wide: true, show: (row) => html`<span class="mono">${row.name}</span>` },
    { key: "labels", title: "Of", show: (row) => html`<span class="dim">${row.labels}</span>` },
    { key: "value", title: "Value", number: true, show: (row) => count(row.value) },
  ], []);
  if (!data) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  return html`<${Page} title=${html`<a href=${here.link("clients")}>Clients</a> / <span class="mono">${instance}</span>`}>
    <div class="tools"><${Filter} label="Filter metrics" value=${wanted} onInput=${setWanted} />${data.left_out > 0 && html`<span class="dim">${whole(data.left_out)} more are in /metrics</span>`}</div>
    <${Table} label="Metrics" id=${(row) => `${row.name}${row.labels}`} rows=${rows} columns=${columns} empty="This client has pushed nothing lately." />
  <//>`;
}
