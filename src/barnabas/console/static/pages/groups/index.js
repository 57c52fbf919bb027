// Groups: the list. One group is in group.js.
import { html, useMemo, useState } from "../../lib/dom.js";
import { count, seconds, whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { Badge, Empty, Filter, Loading, Page, ProblemNotice, Table } from "../../lib/ui.js";
import { Group, KIND_TITLES, stateKind } from "./group.js";

export function Groups() {
  const here = useHere();
  return here.place.rest.length ? html`<${Group} key=${here.place.rest[0]} name=${here.place.rest[0]} />` : html`<${List} />`;
}

function List() {
  const here = useHere();
  const [data, problem] = useLive(here.api("/groups"));
  const [wanted, setWanted] = useState("");
  const [state, setState] = useState("");
  const [kind, setKind] = useState("");
  const groups = data?.groups ?? [];
  const rows = useMemo(() => groups.filter((each) => (!state || each.state === state) && (!kind || each.kind === kind) && each.name.toLowerCase().includes(wanted.toLowerCase())), [data, wanted, state, kind]);
  const columns = useMemo(() => [
    { key: "name", title: "Group", wide: true, show: (row) => html`<a href=${here.link("groups", [row.name])}>${row.name}</a>` },
    { key: "state", title: "State", show: (row) => html`<${Badge} kind=${stateKind(row.state)}>${row.state}<//>` },
    { key: "kind", title: "Kind", show: (row) => html`<${Badge} title=${KIND_TITLES[row.kind]}>${row.kind}<//>` },
    { key: "members", title: "Members", number: true, show: (row) => whole(row.members) },
    { key: "topics", title: "Topics", wide: true, sort: (row) => row.topics.length, show: (row) => html`<${Topics} topics=${row.topics} />` },
    { key: "lag", title: "Lag", number: true, show: (row) => count(row.lag) },
    { key: "seconds", title: "Behind", number: true, show: (row) => seconds(row.seconds) },
  ], [here.cluster]);
  if (!data) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  const states = [...new Set(groups.map((each) => each.state))].sort();
  const kinds = [...new Set(groups.map((each) => each.kind))].sort();
  return html`<${Page} title="Groups">
    <div class="tools"><${Filter} label="Filter groups" value=${wanted} onInput=${setWanted} />
      <${Choice} label="State" value=${state} onChange=${setState} all="every state" options=${states} />
      <${Choice} label="Kind" value=${kind} onChange=${setKind} all="every kind" options=${kinds} />
      <span class="dim">${whole(rows.length)} of ${whole(groups.length)}</span></div>
    ${groups.length ? html`<${Table} label="Groups" id=${(row) => row.name} rows=${rows} columns=${columns} sortBy="seconds" descending empty="No group has such a name and state." />`
      : html`<${Empty}>No group has read anything yet. Make one: <code>barnabas consume TOPIC --group NAME</code><//>`}
  <//>`;
}

const Choice = ({ label, value, onChange, all, options }) => html`<label><span class="unseen">${label}</span><select value=${value} onChange=${(event) => onChange(event.target.value)}><option value="">${all}</option>${options.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>`;

function Topics({ topics }) {
  const here = useHere();
  const more = topics.length - 2;
  return html`${topics.slice(0, 2).map((each, index) => html`${index > 0 && ", "}<a key=${each} href=${here.link("topics", [each])}>${each}</a>`)}${more > 0 && html` <span class="dim" title=${topics.slice(2, 50).join(", ")}>and ${more} more</span>`}`;
}
