// Schemas of the cluster's registry: the subjects; one subject is in subject.js, a new schema in register.js.
import { html, useMemo, useState } from "../../lib/dom.js";
import { whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { go } from "../../lib/router.js";
import { Badge, Empty, Filter, Loading, Page, ProblemNotice, Table } from "../../lib/ui.js";
import { Register } from "./register.js";
import { Subject } from "./subject.js";

export function Schemas() {
  const here = useHere();
  const [name] = here.place.rest;
  return name ? html`<${Subject} key=${name} name=${name} />` : html`<${List} />`;
}

function List() {
  const here = useHere();
  const [data, problem] = useLive(here.api("/schemas"), { every: 3 });
  const [wanted, setWanted] = useState("");
  const [adding, setAdding] = useState(false);
  const rows = useMemo(() => (data?.subjects ?? []).filter((each) => each.subject.toLowerCase().includes(wanted.toLowerCase())), [data, wanted]);
  const columns = useMemo(() => [
    { key: "subject", title: "Subject", wide: true, show: (row) => html`<a href=${here.link("schemas", [row.subject])}>${row.subject}</a>` },
    { key: "version", title: "Newest version", number: true },
    { key: "id", title: "Id", number: true },
    { key: "type", title: "Type", show: (row) => html`<${Badge}>${row.type}<//>` },
  ], [here.cluster]);
  if (!data) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  if (!data.registry) return html`<${Page} title="Schemas"><${Empty}>This cluster has no schema registry here. Start one with <code>barnabas up --registry</code>, and name it: <code>barnabas console --registry URL</code><//><//>`;
  return html`<${Page} title="Schemas" actions=${here.mayChange && html`<button class="primary" onClick=${() => setAdding(true)}>Register schema</button>`}>
    <div class="tools"><${Filter} label="Filter subjects" value=${wanted} onInput=${setWanted} />
      <span class="dim">${whole(rows.length)} of ${whole(data.subjects.length)} · ${data.registry} · compatibility ${data.level}</span></div>
    <${Table} label="Subjects" id=${(row) => row.subject} rows=${rows} columns=${columns} empty=${data.subjects.length ? "No subject has such a name." : "There is no schema yet. Register one here, or with: barnabas schema register SUBJECT FILE"} />
    ${adding && html`<${Register} onClose=${() => setAdding(false)} onDone=${(made) => go(here.link("schemas", [made.subject]))} />`}
  <//>`;
}
