// The audit trail: who did what, and who was refused, newest first.
import { html, useEffect, useState } from "../../lib/dom.js";
import { get } from "../../lib/api.js";
import { whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { go } from "../../lib/router.js";
import { Badge, Loading, ProblemNotice, Table } from "../../lib/ui.js";

const result = (row) => (!row.allowed ? ["denied", "bad"] : row.error ? ["failed", "warning"] : ["ok", "good"]);
const local = (time) => (time ? new Date(time).toLocaleString("sv") : "–");
const rest = (row) => [row.count > 1 ? `×${whole(row.count)}` : "", row.error, row.reason, row.detail, [row.api, row.software && `by ${row.software}`].filter(Boolean).join(" ")].filter(Boolean).join(", ");

const COLUMNS = [
  { key: "time", title: "Time", show: (row) => html`<span class="nowrap">${local(row.time)}</span>` },
  { key: "result", title: "Result", sort: (row) => result(row)[0], show: (row) => html`<${Badge} kind=${result(row)[1]}>${result(row)[0]}<//>` },
  { key: "principal", title: "Who", show: (row) => (row.principal ?? "–").replace(/^User:/, "") },
  { key: "operation", title: "Operation", sort: (row) => row.operation ?? row.event, show: (row) => row.operation ?? row.event },
  { key: "resource", title: "On", show: (row) => html`<span class="mono">${row.resource ?? "–"}</span>` },
  { key: "host", title: "From", show: (row) => row.host ?? "–" },
  { key: "rest", title: "Details", wide: true, sort: rest, show: (row) => html`<span class="dim">${rest(row)}</span>` },
];
const idOf = (row) => `${row.node}-${row.sequence}-${row.time}`;

export function Audit() {
  const here = useHere();
  const { user, operation, resource, denied } = here.place.query;
  const asked = { user, operation, resource, denied };
  const key = JSON.stringify(asked);
  const [data, problem] = useLive(here.api("/access/audit", asked));
  const [more, setMore] = useState({ key, events: [], older: undefined, problem: null, busy: false });
  useEffect(() => { setMore({ key, events: [], older: undefined, problem: null, busy: false }); }, [key]);
  const filtered = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    go(here.link("access", ["audit"], { user: form.get("user").trim(), operation: form.get("operation").trim(), resource: form.get("resource").trim(), denied: form.get("denied") ?? "" }));
  };
  const older = more.older === undefined ? data?.older : more.older;
  const goOn = async () => {
    setMore({ ...more, busy: true });
    try {
      const found = await get(here.api("/access/audit", { ...asked, place: older }));
      setMore({ key, events: [...more.events, ...found.events], older: found.older, problem: null, busy: false });
    } catch (refused) { setMore({ ...more, problem: refused, busy: false }); }
  };
  const seen = new Set();
  const rows = [...(data?.events ?? []), ...more.events].filter((each) => !seen.has(idOf(each)) && seen.add(idOf(each)));
  return html`<form class="tools labelled" key=${key} onSubmit=${filtered} aria-label="Filter the audit trail">
      <label class="field"><span>User</span><input name="user" class="short" defaultValue=${user ?? ""} autocomplete="off" spellcheck=${false} /></label>
      <label class="field"><span>Operation</span><input name="operation" class="short" defaultValue=${operation ?? ""} placeholder="write, login …" autocomplete="off" /></label>
      <label class="field"><span>Resource</span><input name="resource" defaultValue=${resource ?? ""} placeholder="topic:orders*" autocomplete="off" spellcheck=${false} /></label>
      <label class="check"><input type="checkbox" name="denied" value="1" defaultChecked=${Boolean(denied)} /> only what was refused</label>
      <button>Filter</button></form>
    ${!data && (problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`)}
    ${data && html`<${Table} label="Audit trail" id=${idOf} rows=${rows} columns=${COLUMNS} sortBy="time" descending empty="There is no such event." step=${400} />
      <${ProblemNotice} problem=${more.problem} />
      ${older && html`<p><button disabled=${more.busy} onClick=${goOn}>Older events</button> <span class="dim">looked at ${whole(data.looked_at)} events</span></p>`}`}`;
}
