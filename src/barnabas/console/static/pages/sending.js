// Producing a record by hand, and sending records again to this or another topic.
import { html, useEffect, useState } from "../lib/dom.js";
import { get, send } from "../lib/api.js";
import { bytes, whole } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { useLive } from "../lib/live.js";
import { Bar, Dialog, Field, Form, Loading, Notice, ProblemNotice, toast } from "../lib/ui.js";

const JOB_MS = 500;

const asHeaders = (text) => text.split("\n").map((each) => each.trim()).filter(Boolean).map((each) => {
  const at = each.indexOf(":");
  return at < 0 ? { name: each, value: {} } : { name: each.slice(0, at).trim(), value: { text: each.slice(at + 1).trim() } };
});

export function Produce({ topic, partitions, onClose, onProduced }) {
  const here = useHere();
  const [nothing, setNothing] = useState({ key: false, value: false });
  const produce = (form) => send("POST", here.api(`/topics/${encodeURIComponent(topic)}/messages`), {
    key: nothing.key || !form.get("key") ? {} : { text: form.get("key") },
    value: nothing.value ? {} : { text: form.get("value") ?? "" },
    headers: asHeaders(form.get("headers")),
    partition: form.get("partition") === "" ? null : Number(form.get("partition")),
  });
  return html`<${Dialog} title=${`Produce to ${topic}`} onClose=${onClose} wide>
    <${Form} submit="Produce" onSubmit=${produce} onCancel=${onClose} onDone=${(made) => { toast(`written to partition ${made.partition} at offset ${made.offset}`); onClose(); onProduced(); }}>
      <${Field} label="Key" hint="Records of a key are in one partition. Empty: none."><input name="key" autocomplete="off" spellcheck=${false} autofocus /><//>
      <${Field} label="Value"><textarea name="value" rows="8" disabled=${nothing.value} spellcheck=${false}></textarea><//>
      <label class="check"><input type="checkbox" checked=${nothing.value} onChange=${(event) => setNothing({ ...nothing, value: event.target.checked })} /> null: deletes the key in a compacted topic</label>
      <${Field} label="Headers" hint="A line each, name: value"><textarea name="headers" rows="2" spellcheck=${false}></textarea><//>
      <${Field} label="Partition"><select name="partition"><option value="">by the key</option>${[...Array(Math.min(partitions, 1000)).keys()].map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select><//>
    <//><//>`;
}

// All that a search has found: counted anew within fixed offsets, then sent as a job that goes on by itself.
export function RedriveFound({ query, onClose }) {
  const here = useHere();
  const { topic, kind, pattern, ignore_case: ignoreCase, since, until } = query;
  const path = here.api(`/topics/${encodeURIComponent(topic)}/redrive`, { kind, pattern, ignore_case: ignoreCase, since, until });
  const [plan, problem] = useLive(path, { every: 1e9 });
  const [job, setJob] = useState(null);
  const title = "Send all of them again";
  if (job) return html`<${Dialog} title=${title} onClose=${onClose}><${Job} id=${job.id} onClose=${onClose} /><//>`;
  if (!plan) return html`<${Dialog} title=${title} onClose=${onClose}>${problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} what="Counting" />`}<//>`;
  const start = (form) => send("POST", here.api(`/topics/${encodeURIComponent(topic)}/redrive`), { to: form.get("to").trim(), kind: kind ?? "text", pattern, ignore_case: ignoreCase === "1", mark: Boolean(form.get("mark")), spans: plan.spans });
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Form} submit=${`Send ${whole(plan.records)} records`} disabled=${!plan.records} onSubmit=${start} onCancel=${onClose} onDone=${setJob}>
      <p>${whole(plan.records)} records (${bytes(plan.bytes)}) of ${topic}, from ${Object.keys(plan.partitions).length === 1 ? "one partition" : `${whole(Object.keys(plan.partitions).length)} partitions`}: key, value and headers as they are, appended at the end. Those of aborted transactions are left out.</p>
      <${Field} label="To the topic"><input name="to" defaultValue=${usualTarget(topic)} required autocomplete="off" spellcheck=${false} /><//>
      <label class="check"><input type="checkbox" name="mark" value="1" defaultChecked /> with a header barnabas.redriven.from, so that one sees where it came from</label>
    <//><//>`;
}

function Job({ id, onClose }) {
  const here = useHere();
  const [{ job, problem }, setState] = useState({ job: null, problem: null });
  useEffect(() => { // more often than the cluster is looked at, and until it has ended
    let timer = 0;
    const ask = () => get(here.api(`/jobs/${id}`)).then((found) => { setState({ job: found, problem: null }); if (found.state === "running") timer = setTimeout(ask, JOB_MS); }, (failed) => setState((last) => ({ ...last, problem: failed })));
    ask();
    return () => clearTimeout(timer);
  }, [id]);
  if (!job) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  return html`<p role="status">${whole(job.done)} sent${job.state === "done" ? ": all of them" : job.state === "ended" ? ", then it was ended" : ""}</p><${Bar} share=${job.share} label="Progress" />
    ${job.problem && html`<${Notice}>${job.problem}<//>`}
    <div class="actions">${job.state === "running" && html`<button onClick=${() => send("DELETE", here.api(`/jobs/${id}`))}>End</button>`}<button class="primary" onClick=${onClose}>Close</button></div>`;
}

const usualTarget = (topic) => topic.replace(/[.-](dead-letter|dead|dlq|DLT)$/, "");

export function Redrive({ topic, records, onClose, onDone }) {
  const here = useHere();
  const size = records.reduce((sum, each) => sum + each.value.bytes + each.key.bytes, 0);
  const from = [...new Set(records.map((each) => each.partition))].sort((a, b) => a - b);
  const redrive = (form) => send("POST", here.api("/redrive"), { to: form.get("to").trim(), mark: Boolean(form.get("mark")), records: records.map((each) => ({ topic: each.topic, partition: each.partition, offset: each.offset })) });
  return html`<${Dialog} title="Send again" onClose=${onClose}>
    <${Form} submit=${`Send ${whole(records.length)} ${records.length === 1 ? "record" : "records"}`} onSubmit=${redrive} onCancel=${onClose} onDone=${(made) => { toast(`sent ${whole(made.sent)} to ${made.to}`); onDone(made); }}>
      <p>${whole(records.length)} ${records.length === 1 ? "record" : "records"} (${bytes(size)}) of ${topic}, partition ${from.slice(0, 10).join(", ")}${from.length > 10 ? " …" : ""}: key, value and headers as they are, appended at the end. Whoever reads that topic reads them again.</p>
      <${Field} label="To the topic"><input name="to" defaultValue=${usualTarget(topic)} required autocomplete="off" spellcheck=${false} /><//>
      <label class="check"><input type="checkbox" name="mark" value="1" defaultChecked /> with a header barnabas.redriven.from, so that one sees where it came from</label>
    <//><//>`;
}
