// What was changed through this console: who, from where, what, and how it ended.
import { html, useMemo, useState } from "../../lib/dom.js";
import { moment, whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { Badge, Filter, Loading, ProblemNotice, Table } from "../../lib/ui.js";

const COLUMNS = [
  { key: "time", title: "Time", show: (row) => html`<span class="nowrap">${moment(row.time * 1000).slice(0, 19)}</span>` },
  { key: "user", title: "Who" },
  { key: "address", title: "From" },
  { key: "what", title: "What" },
  { key: "on", title: "On", wide: true, show: (row) => html`<span class="mono">${row.on}</span>` },
  { key: "outcome", title: "Outcome", wide: true, show: (row) => html`<${Badge} kind=${row.outcome === "done" ? "good" : "bad"}>${row.outcome === "done" ? "done" : "refused"}<//>${row.outcome === "done" ? "" : html` <span class="dim">${row.outcome}</span>`}` },
];

export function Changes() {
  const here = useHere();
  const [changes, problem] = useLive(here.api("/access/changes"));
  const [wanted, setWanted] = useState("");
  const rows = useMemo(() => (changes ?? []).map((each, index) => ({ ...each, id: changes.length - index })).filter((each) => Object.values(each).join(" ").toLowerCase().includes(wanted.toLowerCase())), [changes, wanted]);
  if (!changes) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  return html`<div class="tools"><${Filter} label="Filter changes" value=${wanted} onInput=${setWanted} /><span class="dim">${whole(rows.length)} of the last ${whole(changes.length)}, since the console was started</span></div>
    <${Table} label="Changes" id=${(row) => row.id} rows=${rows} columns=${COLUMNS} sortBy="time" descending empty=${changes.length ? "No change is like that." : "Nothing has been changed through this console since it was started."} />`;
}
