// The quorum that keeps the metadata: who leads, who votes, how far each has come.
import { html } from "../../lib/dom.js";
import { ago, whole } from "../../lib/format.js";
import { Badge, Notice, Table } from "../../lib/ui.js";

const COLUMNS = [
  { key: "id", title: "Node", show: (row) => html`<b>${row.id}</b>` },
  { key: "role", title: "Role", show: (row) => html`<${Badge} kind=${row.role === "leader" ? "good" : ""}>${row.role}<//>` },
  { key: "lag", title: "Records behind", number: true, show: (row) => whole(row.lag) },
  { key: "fetched_ms", title: "Last contact", number: true, show: (row) => (row.role === "leader" ? "–" : ago(row.fetched_ms)) },
  { key: "caught_up_ms", title: "Had everything", number: true, show: (row) => (row.role === "leader" ? "–" : ago(row.caught_up_ms)) },
];

export function Quorum({ data }) {
  const quorum = data.quorum;
  if (!quorum) return html`<${Notice} kind="warning"><strong>The quorum cannot be shown:</strong> ${data.quorum_problem}<//>`;
  const voters = quorum.replicas.filter((each) => each.role !== "observer").length;
  const losses = Math.floor((voters - 1) / 2);
  return html`<p>Node <b>${quorum.leader}</b> leads in epoch <b>${whole(quorum.epoch)}</b>; committed up to record <b>${whole(quorum.high_watermark)}</b>. ${voters} ${voters === 1 ? "voter" : "voters"}: ${losses ? `${losses} of them may be down` : "none of them may be down"} before nothing about the cluster can be changed.</p>
    <${Table} label="Quorum" id=${(row) => `${row.id}-${row.role}`} rows=${quorum.replicas} columns=${COLUMNS} />`;
}
