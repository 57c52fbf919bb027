// The plan of a balance, or of emptying a node: what moves where, how the nodes will look, and then exactly that.
import { html } from "../../lib/dom.js";
import { send } from "../../lib/api.js";
import { bytes, whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { Dialog, Empty, Field, Form, Loading, ProblemNotice, Table, toast } from "../../lib/ui.js";

const changed = (now, then) => (now === then ? whole(now) : html`${whole(now)} → <span class="changed">${whole(then)}</span>`);

const AFTER = [
  { key: "id", title: "Node", number: true },
  { key: "replicas", title: "Replicas", number: true, show: (row) => changed(row.replicas, row.new_replicas) },
  { key: "leaders", title: "Preferred leader of", number: true, show: (row) => changed(row.leaders, row.new_leaders) },
];

const MOVED = [
  { key: "topic", title: "Partition", wide: true, show: (row) => `${row.topic}-${row.partition}` },
  { key: "replicas", title: "Replicas", sort: (row) => row.replicas.join(), show: (row) => row.replicas.join(", ") },
  { key: "new_replicas", title: "Become", sort: (row) => row.new_replicas.join(), show: (row) => row.new_replicas.join(", ") },
  { key: "moved_bytes", title: "Data", number: true, show: (row) => (row.replicas.every((each) => row.new_replicas.includes(each)) ? "leader only" : bytes(row.moved_bytes)) },
];

export function PlanDialog({ drain, onClose, onDone }) {
  const here = useHere();
  const title = drain === undefined ? "Balance" : `Empty node ${drain}`;
  const [plan, problem] = useLive(here.api("/cluster/plan", { drain }), { every: 1e9 });
  if (!plan) return html`<${Dialog} title=${title} onClose=${onClose}>${problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} what="Planning" />`}<//>`;
  const { moves, elections } = plan;
  if (!moves.length && !elections.length) return html`<${Dialog} title=${title} onClose=${onClose}><${Empty}>${drain === undefined ? "The cluster is balanced: there is nothing to move." : `Node ${drain} holds no replica: there is nothing to move.`}<//><div class="actions"><button onClick=${onClose}>Close</button></div><//>`;
  const submit = async (form) => {
    if (moves.length) {
      const rate = Number(form.get("throttle"));
      await send("POST", here.api("/cluster/moves"), { title: plan.title, moves: moves.map(({ moved_bytes, ...move }) => move), at_once: Number(form.get("at_once")), throttle: rate ? Math.round(rate * 1e6) : null });
    }
    if (elections.length) await send("POST", here.api("/cluster/elections"), { partitions: elections });
  };
  const done = () => { toast(moves.length ? "moving has begun" : "leaders were elected"); onDone(); };
  return html`<${Dialog} title=${title} onClose=${onClose} wide>
    <${Form} submit=${moves.length ? `Move ${whole(moves.length)} partitions` : `Elect ${whole(elections.length)} leaders`} onSubmit=${submit} onCancel=${onClose} onDone=${done}>
      <p><b>${whole(moves.length)}</b> partitions get other replicas or another first one, <b>${bytes(plan.bytes)}</b> travel between nodes.${elections.length > 0 && ` ${whole(elections.length)} partitions are led by their first replica again.`} Clients go on meanwhile.${drain !== undefined ? ` When it is done, node ${drain} holds nothing and can be taken out of the cluster.` : ""}</p>
      <div class="tight"><${Table} label="Nodes before and after" id=${(row) => row.id} rows=${plan.after} columns=${AFTER} /></div>
      <h3>Moves</h3>
      <div class="tight"><${Table} label="Planned moves" id=${(row) => `${row.topic}-${row.partition}`} rows=${moves} columns=${MOVED} step=${50} empty="No replica moves." /></div>
      ${moves.length > 0 && html`<div class="grid two form-grid"><${Field} label="Partitions at once" hint="More is faster and disturbs more."><input name="at_once" type="number" min="1" max="1000" defaultValue="10" required /><//>
      <${Field} label="Throttle, MB a second and node" hint="Empty: as fast as disks and network allow."><input name="throttle" type="number" min="0.001" step="any" placeholder="none" /><//></div>`}
    <//><//>`;
}
