// Topics: the list.
import { html, useMemo, useState } from "../lib/dom.js";
import { bytes, count, rate, whole } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { useLive } from "../lib/live.js";
import { Badge, Filter, Loading, Page, ProblemNotice, Table } from "../lib/ui.js";

export function Topics() {
  const here = useHere();
  const [data, problem] = useLive(here.api("/topics"));
  const [wanted, setWanted] = useState("");
  const [internal, setInternal] = useState(false);
  const rows = useMemo(() => (data?.topics ?? []).filter((each) => (internal || !each.internal) && each.name.toLowerCase().includes(wanted.toLowerCase())), [data, wanted, internal]);
  const columns = useMemo(() => [
    { key: "name", title: "Topic", wide: true, show: (row) => html`<a href=${here.link("topics", [row.name])}>${row.name}</a>${row.offline > 0 && html` <${Badge} kind="bad">${row.offline} without leader<//>`}${!row.offline && row.under_replicated > 0 && html` <${Badge} kind="warning">${row.under_replicated} under-replicated<//>`}` },
    { key: "partitions", title: "Partitions", number: true, show: (row) => whole(row.partitions) },
    { key: "replication_factor", title: "Replicas", number: true },
    { key: "records", title: "Records", number: true, show: (row) => count(row.records) },
    { key: "bytes", title: "Size", number: true, show: (row) => bytes(row.bytes) },
    { key: "records_per_s", title: "Records/s", number: true, show: (row) => rate(row.records_per_s) },
    { key: "groups", title: "Groups", number: true },
    { key: "lag", title: "Lag", number: true, show: (row) => (row.groups ? count(row.lag) : "–") },
  ], [here.cluster]);
  if (!data) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  return html`<${Page} title="Topics">
    <div class="tools"><${Filter} label="Filter topics" value=${wanted} onInput=${setWanted} />
      <label class="check"><input type="checkbox" checked=${internal} onChange=${(event) => setInternal(event.target.checked)} /> internal ones too</label>
      <span class="dim">${whole(rows.length)} of ${whole(data.topics.length)}</span></div>
    <${Table} label="Topics" id=${(row) => row.name} rows=${rows} columns=${columns} empty="No topic has such a name." />
  <//>`;
}
