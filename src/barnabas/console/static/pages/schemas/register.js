// A new schema: checked with the subject's versions first, then registered.
import { send } from "../../lib/api.js";
import { html, useRef, useState } from "../../lib/dom.js";
import { useHere } from "../../lib/here.js";
import { Dialog, Field, Form, Notice, ProblemNotice, toast } from "../../lib/ui.js";

const TYPES = [["AVRO", "Avro"], ["JSON", "JSON Schema"], ["PROTOBUF", "Protobuf"]];

export function Register({ subject = "", type = "AVRO", text = "", references = [], onClose, onDone }) {
  const here = useHere();
  const form = useRef(null);
  const [checked, setChecked] = useState(null);
  const [problem, setProblem] = useState(null);
  const told = (fields) => ({ subject: (subject || fields.get("subject") || "").trim(), type: fields.get("type"), schema: fields.get("schema"), references });
  const check = async () => {
    setChecked(null); setProblem(null);
    try {
      setChecked(await send("POST", here.api("/schemas/check"), told(new FormData(form.current.querySelector("form")))));
    } catch (trouble) { setProblem(trouble); }
  };
  return html`<${Dialog} wide title=${subject ? `New version of ${subject}` : "Register schema"} onClose=${onClose}>
    <div ref=${form}><${Form} submit="Register" onCancel=${onClose} onSubmit=${(fields) => send("POST", here.api("/schemas/register"), told(fields))}
        onDone=${(made) => { toast(`${made.subject} version ${made.version}, id ${made.id}`); onClose(); onDone(made); }}>
      <div class="grid two">${!subject && html`<${Field} label="Subject" hint="TOPIC-value or TOPIC-key for most."><input name="subject" required autofocus autocomplete="off" spellcheck=${false} /><//>`}
        <${Field} label="Type"><select name="type">${TYPES.map(([value, title]) => html`<option key=${value} value=${value} selected=${value === type}>${title}</option>`)}</select><//></div>
      <${Field} label="Schema"><textarea name="schema" class="mono" rows="16" required spellcheck=${false} defaultValue=${text} onInput=${() => setChecked(null)}></textarea><//>
      ${references.length > 0 && html`<p class="dim">With the references of the version before: ${references.map((each) => `${each.name} (${each.subject} ${each.version})`).join(", ")}</p>`}
      <p><button type="button" onClick=${check}>Check compatibility</button></p>
      <${ProblemNotice} problem=${problem} />
      ${checked && (checked.compatible ? html`<${Notice} kind="good">Compatible (${checked.level}).<//>`
      : html`<${Notice}><strong>${checked.level ? `Not compatible (${checked.level})` : "Not a schema"}.</strong><ul>${checked.reasons.map((each, place) => html`<li key=${place}>${each.path && html`<code>${each.path}</code> `}${each.text}</li>`)}</ul><//>`)}
    <//></div><//>`;
}
