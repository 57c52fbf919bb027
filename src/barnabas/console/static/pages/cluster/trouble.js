// Partitions without a leader or with replicas that are not in sync.
import { html } from "../../lib/dom.js";
import { whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { Badge, Notice, Table } from "../../lib/ui.js";

export function Trouble({ data }) {
  const here = useHere();
  if (!data.trouble_count) return html`<${Notice} kind="good"><strong>Nothing is wrong.</strong> Every partition has its leader and all its replicas in sync.<//>`;
  const columns = [
    { key: "topic", title: "Partition", wide: true, show: (row) => html`<a href=${here.link("topics", [row.topic, "partitions"])}>${row.topic}-${row.partition}</a>` },
    { key: "leader", title: "Leader", number: true, show: (row) => (row.leader < 0 ? html`<${Badge} kind="bad">none<//>` : row.leader) },
    { key: "replicas", title: "Replicas", show: (row) => row.replicas.map((each) => html`<${Badge} key=${each} kind=${row.in_sync.includes(each) ? "good" : "bad"} title=${row.in_sync.includes(each) ? "in sync" : "not in sync"}>${each}<//> `) },
    { key: "why", title: "What to do", wide: true, sort: (row) => row.leader, show: (row) => (row.leader < 0 ? `Start node ${row.replicas.join(" or ")}: only they have its records.` : `Node ${row.replicas.filter((each) => !row.in_sync.includes(each)).join(", ")} catches up when it is back; look at its log if it does not.`) },
  ];
  return html`${data.trouble_count > data.trouble.length && html`<p class="dim">The first ${whole(data.trouble.length)} of ${whole(data.trouble_count)}.</p>`}
    <${Table} label="Partitions with trouble" id=${(row) => `${row.topic}-${row.partition}`} rows=${data.trouble} columns=${columns} sortBy="why" />`;
}
