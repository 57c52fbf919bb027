// What is being moved: the plan that this console carries out, and every partition on its way.
import { html, useState } from "../../lib/dom.js";
import { send } from "../../lib/api.js";
import { bytes, whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { Bar, Dialog, Form, Notice, Table, toast } from "../../lib/ui.js";

const share = (part, all) => (all ? part / all : 0);

export function Moves({ data, onDone }) {
  const here = useHere();
  const [cancelled, setCancelled] = useState(null);
  const columns = [
    { key: "topic", title: "Partition", wide: true, show: (row) => `${row.topic}-${row.partition}` },
    { key: "from", title: "From", sort: (row) => row.removing.join(), show: (row) => row.removing.join(", ") || "–" },
    { key: "to", title: "To", sort: (row) => row.adding.join(), show: (row) => row.adding.join(", ") || "–" },
    { key: "arrived", title: "Arrived", number: true, show: (row) => `${bytes(row.arrived)} of ${bytes(row.bytes)}` },
    { key: "bar", title: "Progress", sort: (row) => share(row.arrived, row.bytes), show: (row) => html`<${Bar} share=${row.bytes ? share(row.arrived, row.bytes) : 1} label=${`${row.topic}-${row.partition} moved`} />` },
    ...(here.mayChange ? [{ key: "actions", title: "", show: (row) => html`<div class="row-actions"><button aria-label=${`Take back ${row.topic}-${row.partition}`} onClick=${() => setCancelled(row)}>Take back …</button></div>` }] : []),
  ];
  return html`<${Work} work=${data.work} moves=${data.moves} onDone=${onDone} />
    ${data.moves_problem && html`<${Notice} kind="warning">${data.moves_problem}<//>`}
    <${Table} label="Moves" id=${(row) => `${row.topic}-${row.partition}`} rows=${data.moves} columns=${columns} empty=${data.work?.busy ? "The next partitions are about to move." : "Nothing is being moved. Balance spreads partitions over all nodes; emptying a node moves them off it."} />
    ${cancelled && html`<${Dialog} title="Take back a move" onClose=${() => setCancelled(null)}>
      <${Form} danger submit="Take it back" onCancel=${() => setCancelled(null)} onDone=${() => { toast("taken back"); setCancelled(null); onDone(); }}
        onSubmit=${() => send("POST", here.api("/cluster/moves/cancel"), { partitions: [{ topic: cancelled.topic, partition: cancelled.partition }] })}>
        <p><b>${cancelled.topic}-${cancelled.partition}</b> stays on nodes ${cancelled.replicas.join(", ")}; what has arrived on ${cancelled.adding.join(", ")} is deleted there.</p>
      <//><//>`}`;
}

export function WorkNotice({ work }) {
  const here = useHere();
  return html`<${Notice} kind="plain" action=${html`<a href=${here.link("cluster", ["moves"])}>Look</a>`}><strong>${work.title}:</strong> ${whole(work.done)} of ${whole(work.moves)} partitions are moved.<//>`;
}

function Work({ work, moves, onDone }) {
  const here = useHere();
  if (!work) return null;
  const arrived = work.bytes_done + (work.busy ? moves.reduce((sum, each) => sum + each.arrived, 0) : 0);
  const done = work.bytes ? Math.min(1, share(arrived, work.bytes)) : share(work.done, work.moves);
  const stop = async () => {
    try { await send("DELETE", here.api("/cluster/moves")); toast("stopping"); } catch (problem) { toast(problem.message, "bad"); }
    onDone();
  };
  return html`<section class="panel" aria-label="The plan under way"><div class="tools"><h2>${work.title}</h2><span class="dim">${whole(work.done)} of ${whole(work.moves)} partitions, ${bytes(Math.min(arrived, work.bytes))} of ${bytes(work.bytes)}</span>
      ${work.busy && here.mayChange && html`<button class="danger" onClick=${stop}>Stop</button>`}</div>
    <${Bar} share=${work.busy ? done : share(work.done, work.moves)} label=${`${work.title}: partitions moved`} />
    ${!work.busy && html`<p class="dim">${work.problem || `Done: ${whole(work.done)} partitions were moved.`}</p>`}
    ${work.failed.length > 0 && html`<${Notice} kind="warning">Not moved: ${work.failed.join("; ")}<//>`}</section>`;
}
