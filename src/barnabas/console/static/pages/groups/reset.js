// Moving a group: where to, a preview of what will be read again or skipped, and doing exactly that.
import { html, useMemo, useState } from "../../lib/dom.js";
import { get, send } from "../../lib/api.js";
import { ago, count, moment, whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { Dialog, Field, Form, Notice, Table, toast } from "../../lib/ui.js";

const WAYS = [["earliest", "the beginning"], ["latest", "the end"], ["time", "a time"], ["offset", "an offset"], ["shift", "forward or back by records"]];

// "0, 3-5" -> ["0", "3", "4", "5"]; what is not a number goes to the server, which says so.
export function listed(text) {
  return text.split(",").map((each) => each.trim()).filter(Boolean).flatMap((each) => {
    const [, first, last] = /^(\d{1,6})\s*[-–]\s*(\d{1,6})$/.exec(each) ?? [];
    return first === undefined || last - first > 10000 || last < first - 0 ? [each] : Array.from({ length: last - first + 1 }, (_, index) => String(Number(first) + index));
  });
}

export function Reset({ group, topics, topic, onClose, onDone }) {
  const here = useHere();
  const [way, setWay] = useState("earliest");
  const [plan, setPlan] = useState(null);
  const look = (form) => {
    const value = way === "time" ? new Date(form.get("time")).getTime() : form.get("value");
    return get(here.api("/group/reset", { group, topic: form.get("topic").trim(), partition: listed(form.get("partitions")), to: way, value: way === "earliest" || way === "latest" ? "" : value }));
  };
  const move = () => send("POST", here.api("/group/reset", { group }), { moves: plan.moves.map(({ topic: name, partition, before, after }) => ({ topic: name, partition, before, after })) });
  const changed = () => setPlan(null);
  return html`<${Dialog} title=${`Reset ${group}`} wide onClose=${onClose}>
    <div onInput=${changed} onChange=${changed}><${Form} submit="Preview" onSubmit=${look} onDone=${setPlan} onCancel=${plan ? undefined : onClose}>
      <div class="fields">
        <${Field} label="Topic"><input name="topic" list="reset-topics" defaultValue=${topic} required autocomplete="off" spellcheck=${false} /><datalist id="reset-topics">${topics.map((each) => html`<option key=${each} value=${each} />`)}</datalist><//>
        <${Field} label="Partitions" hint="empty for all; or 0, 3-5"><input name="partitions" inputmode="numeric" autocomplete="off" /><//>
        <${Field} label="Go on from"><select name="way" value=${way} onChange=${(event) => setWay(event.target.value)}>${WAYS.map(([key, title]) => html`<option key=${key} value=${key}>${title}</option>`)}</select><//>
        ${way === "time" && html`<${Field} label="Time" hint="the first record of this time or later; your time zone"><input name="time" type="datetime-local" step="1" required /><//>`}
        ${way === "offset" && html`<${Field} label="Offset"><input name="value" type="number" min="0" step="1" required /><//>`}
        ${way === "shift" && html`<${Field} label="Records" hint="-100 reads the last hundred again; 100 skips as many"><input name="value" type="number" step="1" required /><//>`}
      </div>
    <//></div>
    ${plan && html`<${Plan} plan=${plan} onMove=${move} onClose=${onClose} onDone=${(told) => { toast(`moved ${group} in ${told.moved} partitions`); onDone(); }} />`}
  <//>`;
}

function Plan({ plan, onMove, onClose, onDone }) {
  const columns = useMemo(() => [
    { key: "partition", title: "Partition", number: true, show: (row) => row.partition },
    { key: "before", title: "Now at", number: true, show: (row) => whole(row.before) },
    { key: "after", title: "Then at", number: true, show: (row) => whole(row.after) },
    { key: "again", title: "Read again", number: true, show: (row) => (row.again ? html`<b>${whole(row.again)}</b>` : html`<span class="dim">0</span>`) },
    { key: "skipped", title: "Skipped", number: true, show: (row) => (row.skipped ? html`<b>${whole(row.skipped)}</b>` : html`<span class="dim">0</span>`) },
    { key: "left", title: "To read then", number: true, sort: (row) => row.end - row.after, show: (row) => whole(row.end - row.after) },
    { key: "from_ms", title: "From", show: (row) => (row.from_ms === null ? html`<span class="dim">${row.after >= row.end ? "what comes next" : "–"}</span>` : html`<span title=${moment(row.from_ms)}>${ago(row.from_ms)}</span>`) },
  ], []);
  return html`<h3>What will happen</h3>
    <p>In ${plan.moves.length === 1 ? "one partition" : `${whole(plan.moves.length)} partitions`}: ${plan.again || plan.skipped ? html`<b>${count(plan.again)} records are read again</b>, <b>${count(plan.skipped)} are skipped</b>.` : "nothing is read again and nothing is skipped."}</p>
    <${Table} label="What will happen" id=${(row) => `${row.topic}-${row.partition}`} rows=${plan.moves} columns=${columns} step=${50} />
    ${plan.members > 0 && html`<${Notice} kind="warning"><strong>The group has ${plan.members === 1 ? "a member" : `${plan.members} members`}.</strong> Only a group without members can be moved: stop the programs that read as ${plan.group}, then look at a new preview.<//>`}
    <${Form} danger submit=${`Move ${plan.group}`} disabled=${plan.members > 0} onSubmit=${onMove} onCancel=${onClose} onDone=${onDone} />`;
}
