// Producing a record by hand, and sending records again to this or another topic.
import { html, useState } from "../lib/dom.js";
import { send } from "../lib/api.js";
import { bytes, whole } from "../lib/format.js";
import { useHere } from "../lib/here.js";
import { Dialog, Field, Form, toast } from "../lib/ui.js";

const asHeaders = (text) => text.split("\n").map((each) => each.trim()).filter(Boolean).map((each) => {
  const at = each.indexOf(":");
  return at < 0 ? { name: each, value: {} } : { name: each.slice(0, at).trim(), value: { text: each.slice(at + 1).trim() } };
});

export function Produce({ topic, partitions, onClose }) {
  const here = useHere();
  const [nothing, setNothing] = useState({ key: false, value: false });
  const produce = (form) => send("POST", here.api(`/topics/${encodeURIComponent(topic)}/messages`), {
    key: nothing.key || !form.get("key") ? {} : { text: form.get("key") },
    value: nothing.value ? {} : { text: form.get("value") ?? "" },
    headers: asHeaders(form.get("headers")),
    partition: form.get("partition") === "" ? null : Number(form.get("partition")),
  });
  return html`<${Dialog} title=${`Produce to ${topic}`} onClose=${onClose} wide>
    <${Form} submit="Produce" onSubmit=${produce} onCancel=${onClose} onDone=${(made) => { toast(`written to partition ${made.partition} at offset ${made.offset}`); onClose(); }}>
      <${Field} label="Key" hint="Records of a key are in one partition. Empty: none."><input name="key" autocomplete="off" spellcheck="false" autofocus /><//>
      <${Field} label="Value"><textarea name="value" rows="8" disabled=${nothing.value} spellcheck="false"></textarea><//>
      <label class="check"><input type="checkbox" checked=${nothing.value} onChange=${(event) => setNothing({ ...nothing, value: event.target.checked })} /> null: deletes the key in a compacted topic</label>
      <${Field} label="Headers" hint="A line each, name: value"><textarea name="headers" rows="2" spellcheck="false"></textarea><//>
      <${Field} label="Partition"><select name="partition"><option value="">by the key</option>${[...Array(Math.min(partitions, 1000)).keys()].map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select><//>
    <//><//>`;
}

export function Redrive({ topic, records, onClose, onDone }) {
  const here = useHere();
  const size = records.reduce((sum, each) => sum + each.value.bytes + each.key.bytes, 0);
  const from = [...new Set(records.map((each) => each.partition))].sort((a, b) => a - b);
  const redrive = (form) => send("POST", here.api("/redrive"), { to: form.get("to").trim(), mark: Boolean(form.get("mark")), records: records.map((each) => ({ topic: each.topic, partition: each.partition, offset: each.offset })) });
  return html`<${Dialog} title="Send again" onClose=${onClose}>
    <${Form} submit=${`Send ${whole(records.length)} ${records.length === 1 ? "record" : "records"}`} onSubmit=${redrive} onCancel=${onClose} onDone=${(made) => { toast(`sent ${whole(made.sent)} to ${made.to}`); onDone(made); }}>
      <p>${whole(records.length)} ${records.length === 1 ? "record" : "records"} (${bytes(size)}) of ${topic}, partition ${from.slice(0, 10).join(", ")}${from.length > 10 ? " …" : ""}: key, value and headers as they are, appended at the end. Whoever reads that topic reads them again.</p>
      <${Field} label="To the topic"><input name="to" value=${topic.replace(/[.-](dead-letter|dead|dlq|DLT)$/, "")} required autocomplete="off" spellcheck="false" /><//>
      <label class="check"><input type="checkbox" name="mark" value="1" checked /> with a header barnabas.redriven.from, so that one sees where it came from</label>
    <//><//>`;
}
