// The nodes of a cluster: state, load, disks; what empties one and takes it out.
import { html, useMemo, useState } from "../../lib/dom.js";
import { send } from "../../lib/api.js";
import { bytes, whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { Badge, Bar, ConfirmByName, Table, toast } from "../../lib/ui.js";

export function Nodes({ data, onDrain, onDone }) {
  const here = useHere();
  const [leaving, setLeaving] = useState(null);
  const columns = useMemo(() => nodeColumns(here, onDrain, setLeaving), [here.cluster, here.mayChange]);
  const brokers = data.nodes.filter((each) => each.broker !== false);
  const racks = [...new Set(brokers.map((each) => each.rack).filter(Boolean))];
  return html`<div class="tiles">
      <${Tile} label="Nodes up" value=${`${brokers.filter((each) => each.up).length} of ${brokers.length}`} />
      <${Tile} label="Leads the quorum" value=${data.quorum ? `node ${data.quorum.leader}` : "–"} />
      <${Tile} label="Racks" value=${racks.length || "none"} />
      <${Tile} label="Partitions with trouble" value=${whole(data.trouble_count)} />
      <${Tile} label="Led elsewhere" value=${whole(data.elsewhere_count)} />
    </div>
    <${Table} label="Nodes" id=${(row) => row.id} rows=${data.nodes} columns=${columns} rowClass=${(row) => (row.up === false ? "down" : "")} />
    ${racks.length > 1 && racks.length < brokers.length && html`<section class="panel racks"><h2>Racks</h2><ul class="nodes">${racks.sort().map((rack) => html`<li key=${rack}><b>${rack}</b> <span class="dim">nodes ${brokers.filter((each) => each.rack === rack).map((each) => each.id).join(", ")}</span></li>`)}</ul></section>`}
    ${leaving !== null && html`<${ConfirmByName} title="Take a node out of the cluster" name=${`node ${leaving}`} submit="Take it out" onClose=${() => setLeaving(null)}
      what=${`Node ${leaving} holds no replica any more. Its vote in the quorum is taken back and its registration ends; stop the process afterwards.`}
      onSubmit=${() => send("DELETE", here.api(`/cluster/nodes/${leaving}`))} onDone=${() => { toast(`node ${leaving} is no member any more: stop it now`); setLeaving(null); onDone(); }} />`}`;
}

const Tile = ({ label, value }) => html`<div class="tile"><span>${label}</span><b>${value}</b></div>`;

const NOT_A_BROKER = (row) => row.broker === false;

function nodeColumns(here, onDrain, onLeave) {
  return [
    { key: "id", title: "Node", show: (row) => html`<b>${row.id}</b>` },
    { key: "host", title: "Address", show: (row) => (NOT_A_BROKER(row) ? html`<span class="dim">controller only</span>` : html`<span class="mono">${row.host}:${row.port}</span>`) },
    { key: "rack", title: "Rack", show: (row) => html`<span class=${row.rack ? "nowrap" : "dim"}>${row.rack ?? "–"}</span>` },
    { key: "up", title: "State", show: (row) => html`${row.up === null ? "" : html`<${Badge} kind=${row.up ? "good" : "bad"}>${row.up ? "up" : "down"}<//>`}${row.out_of_sync > 0 && html` <${Badge} kind="warning" title="replicas that are not in sync">${whole(row.out_of_sync)} behind<//>`}` },
    { key: "role", title: "Quorum", show: (row) => (row.role === "leader" ? html`<${Badge} kind="good">leader<//>` : row.role || "–") },
    { key: "leads", title: "Leads", number: true, show: (row) => (NOT_A_BROKER(row) ? "–" : whole(row.leads)) },
    { key: "replicas", title: "Replicas", number: true, show: (row) => (NOT_A_BROKER(row) ? "–" : whole(row.replicas)) },
    { key: "bytes", title: "Size", number: true, show: (row) => bytes(row.bytes) },
    { key: "free_bytes", title: "Disk", sort: (row) => (row.disk_bytes ? row.free_bytes / row.disk_bytes : null), show: (row) => html`<${Disk} row=${row} />` },
    ...(here.mayChange ? [{ key: "actions", title: "", show: (row) => !NOT_A_BROKER(row) && html`<div class="row-actions">${row.replicas > 0
      ? html`<button aria-label=${`Empty node ${row.id}`} onClick=${() => onDrain(row.id)}>Empty …</button>`
      : html`<button class="danger" aria-label=${`Take out node ${row.id}`} onClick=${() => onLeave(row.id)}>Take out …</button>`}</div>` }] : []),
  ];
}

function Disk({ row }) {
  if (row.folders?.some((each) => each.error)) return html`<${Badge} kind="bad">failed<//>`;
  if (!row.disk_bytes) return html`<span class="dim">–</span>`;
  const used = 1 - row.free_bytes / row.disk_bytes;
  return html`<div class="disk"><${Bar} share=${used} kind=${used > 0.95 ? "bad" : used > 0.9 ? "warning" : ""} label=${`Disk of node ${row.id} in use`} /><small>${bytes(row.free_bytes)} free of ${bytes(row.disk_bytes)}</small></div>`;
}
