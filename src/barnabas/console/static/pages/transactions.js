// Transactions: the open ones, since when, by whom and where; those that hang; ending one.
import { html, useMemo, useState } from "../lib/dom.js";
import { get, send } from "../lib/api.js";
import { moment, seconds, whole } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { useLive } from "../lib/live.js";
import { Badge, ConfirmByName, Empty, Filter, Loading, Notice, Page, ProblemNotice, Table, toast } from "../lib/ui.js";
import { owned } from "./groups/group.js";

const KINDS = { Ongoing: "good", PrepareCommit: "warning", PrepareAbort: "warning", PrepareEpochFence: "warning" };

export function Transactions() {
  const here = useHere();
  const [ended, setEnded] = useState(false);
  const [wanted, setWanted] = useState("");
  const [aborting, setAborting] = useState(null);
  const [data, problem, reload] = useLive(here.api("/transactions", { ended: ended ? 1 : "" }));
  const rows = useMemo(() => (data?.transactions ?? []).filter((each) => each.id.toLowerCase().includes(wanted.toLowerCase())), [data, wanted]);
  const columns = useMemo(() => [
    { key: "id", title: "Transactional id", wide: true },
    { key: "state", title: "State", show: (row) => html`<${Badge} kind=${KINDS[row.state] ?? ""}>${row.state}<//>` },
    { key: "age", title: "Open for", number: true, show: (row) => html`<span title=${row.age === null ? "" : `since ${moment(row.started_ms)}`}>${late(row) ? html`<${Badge} kind="warning" title="longer than its timeout">${seconds(row.age)}<//>` : seconds(row.age)}</span>` },
    { key: "timeout_ms", title: "Timeout", number: true, show: (row) => (row.timeout_ms === null ? "–" : seconds(row.timeout_ms / 1000)) },
    { key: "producer_id", title: "Producer", number: true, show: (row) => html`${row.producer_id}${row.producer_epoch !== null && html` <span class="dim">epoch ${row.producer_epoch}</span>`}` },
    { key: "partitions", title: "Partitions", wide: true, sort: (row) => row.partitions.length, show: (row) => html`<${Places} partitions=${row.partitions} />` },
    { key: "coordinator", title: "Coordinator", number: true, show: (row) => html`<a href=${here.link("cluster")}>node ${row.coordinator}</a>` },
    { key: "actions", title: "", show: (row) => here.mayChange && row.state === "Ongoing" && html`<button class="link" aria-label=${`Abort ${row.id}`} onClick=${() => setAborting(row)}>abort</button>` },
  ], [here.cluster, here.mayChange]);
  return html`<${Page} title="Transactions">
    <${ProblemNotice} problem=${problem} />
    <div class="tools"><${Filter} label="Filter transactions" value=${wanted} onInput=${setWanted} />
      <label class="check"><input type="checkbox" checked=${ended} onChange=${(event) => setEnded(event.target.checked)} /> ended ones too</label>
      ${data && html`<span class="dim">${whole(rows.length)} of ${whole(data.transactions.length)}</span>`}</div>
    ${data?.silent.length > 0 && html`<${Notice} kind="warning">Node ${data.silent.join(", ")} did not answer: transactions that it coordinates are missing here.<//>`}
    ${!data && !problem && html`<${Loading} />`}
    ${data && (data.transactions.length ? html`<${Table} label="Transactions" id=${(row) => row.id} rows=${rows} columns=${columns} sortBy="age" descending empty="No transactional id has such a name." />`
      : html`<${Empty}>${ended ? "No program has used a transactional id yet." : "No transaction is open now."}<//>`)}
    <${Hanging} />
    ${aborting && html`<${ConfirmByName} title="Abort the transaction" name=${aborting.id} submit="Abort" onClose=${() => setAborting(null)}
      what=${`What ${aborting.id} has written since ${moment(aborting.started_ms)} in ${aborting.partitions.length} partitions is taken back, and its program is fenced: it must start anew.`}
      onSubmit=${() => send("POST", here.api("/transactions/abort"), { id: aborting.id, producer_id: aborting.producer_id, started_ms: aborting.started_ms })}
      onDone=${() => { toast(`aborted the transaction of ${aborting.id}`); setAborting(null); reload(); }} />`}
  <//>`;
}

const late = (row) => row.age !== null && row.timeout_ms !== null && row.timeout_ms > 0 && row.age * 1000 > row.timeout_ms;

function Places({ partitions }) {
  if (!partitions.length) return html`<span class="dim">–</span>`;
  const told = owned(partitions.slice(0, 200));
  return told.length > 80 ? html`<details><summary>${partitions.length} partitions</summary>${told}</details>` : told;
}

const PATIENCE = [[60, "a minute"], [900, "15 minutes"], [3600, "an hour"], [86400, "a day"], [0, "any time at all"]];

function Hanging() {
  const here = useHere();
  const [longer, setLonger] = useState(900);
  const [state, setState] = useState({ busy: false, found: null, problem: null });
  const [aborting, setAborting] = useState(null);
  const look = async () => {
    setState((last) => ({ ...last, busy: true, problem: null }));
    try { setState({ busy: false, found: await get(here.api("/transactions/hanging", { longer_than: String(longer) })), problem: null }); } catch (problem) { setState({ busy: false, found: null, problem }); }
  };
  const columns = useMemo(() => [
    { key: "topic", title: "Topic", wide: true, show: (row) => html`<a href=${here.link("topics", [row.topic])}>${row.topic}</a>` },
    { key: "partition", title: "Partition", number: true },
    { key: "start_offset", title: "From offset", number: true, show: (row) => whole(row.start_offset) },
    { key: "idle", title: "Silent for", number: true, show: (row) => seconds(row.idle) },
    { key: "producer_id", title: "Producer", number: true, show: (row) => html`${row.producer_id} <span class="dim">epoch ${row.producer_epoch}</span>` },
    { key: "why", title: "Why it hangs", wide: true, show: (row) => html`${row.id && html`<b>${row.id}</b>: `}${row.why}` },
    { key: "actions", title: "", show: (row) => here.mayChange && html`<button class="link" aria-label=${`Abort in ${row.topic}-${row.partition}`} onClick=${() => setAborting(row)}>abort</button>` },
  ], [here.cluster, here.mayChange]);
  const name = aborting && `${aborting.topic}-${aborting.partition}`;
  return html`<section class="panel"><h2>Hanging transactions</h2>
    <p class="dim">Open in a partition, and no coordinator will ever end them: readers with read_committed wait there for ever. Looking asks every leader about every partition.</p>
    <div class="tools"><label>Silent for longer than <select value=${longer} onChange=${(event) => setLonger(Number(event.target.value))}>${PATIENCE.map(([value, title]) => html`<option key=${value} value=${value}>${title}</option>`)}</select></label>
      <button onClick=${look} disabled=${state.busy}>${state.busy ? "Looking …" : "Look for them"}</button></div>
    <${ProblemNotice} problem=${state.problem} />
    ${state.found && (state.found.hanging.length ? html`<${Table} label="Hanging transactions" id=${(row) => `${row.topic}-${row.partition}-${row.start_offset}`} rows=${state.found.hanging} columns=${columns} sortBy="idle" descending />`
      : html`<${Notice} kind="good">No transaction hangs in ${whole(state.found.partitions)} partitions.<//>`)}
    ${aborting && html`<${ConfirmByName} title="Abort what hangs" name=${name} submit="Write an abort marker" onClose=${() => setAborting(null)}
      what=${`An abort marker is written to ${name}: what producer ${aborting.producer_id} has written from offset ${aborting.start_offset} on is taken back. It is done only if it still hangs.`}
      onSubmit=${() => send("POST", here.api("/transactions/abort-hanging"), { topic: aborting.topic, partition: aborting.partition, start_offset: aborting.start_offset, producer_id: aborting.producer_id, producer_epoch: aborting.producer_epoch })}
      onDone=${() => { toast(`aborted what hung in ${name}`); setAborting(null); look(); }} />`}
  </section>`;
}
