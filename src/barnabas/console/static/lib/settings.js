// Settings with their meaning, changed one at a time.
import { html, useMemo, useState } from "./dom.js";
import { send } from "./api.js";
import { useLive } from "./live.js";
import { Badge, Dialog, Field, Filter, Form, Loading, ProblemNotice, Table, toast } from "./ui.js";

export function Settings({ path, mayChange }) {
  const [rows, problem, reload] = useLive(path, { every: 5 });
  const [wanted, setWanted] = useState("");
  const [changed, setChanged] = useState(false);
  const [editing, setEditing] = useState(null);
  const shown = useMemo(() => (rows ?? []).filter((each) => (!changed || !each.is_default) && `${each.name} ${each.meaning}`.toLowerCase().includes(wanted.toLowerCase())), [rows, wanted, changed]);
  const columns = useMemo(() => [
    { key: "name", title: "Setting", wide: true, show: (row) => html`<span class="mono">${row.name}</span>${!row.is_default && html` <${Badge} kind="warning" title=${`set by ${row.source}`}>changed<//>`}<small class="meaning">${row.meaning}</small>` },
    { key: "value", title: "Value", wide: true, show: (row) => html`<span class="mono">${row.sensitive ? "(secret)" : row.value === "" || row.value === null ? html`<span class="dim">empty</span>` : row.value}</span>${!row.is_default && row.default !== null && html`<small class="meaning">default ${row.default === "" ? "empty" : row.default}</small>`}` },
    { key: "source", title: "From", show: (row) => html`<span class=${`nowrap ${row.is_default ? "dim" : ""}`}>${row.source}</span>` },
    ...(mayChange ? [{ key: "edit", title: "", show: (row) => !row.read_only && html`<button aria-label=${`Change ${row.name}`} onClick=${() => setEditing(row)}>Change</button>` }] : []),
  ], [mayChange]);
  if (!rows) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  return html`<div class="tools"><${Filter} label="Filter settings" value=${wanted} onInput=${setWanted} />
      <label class="check"><input type="checkbox" checked=${changed} onChange=${(event) => setChanged(event.target.checked)} /> only what was changed</label></div>
    <${Table} label="Settings" id=${(row) => row.name} rows=${shown} columns=${columns} empty="No setting has such a name." />
    ${editing && html`<${Edit} row=${editing} path=${path} onClose=${() => setEditing(null)} onDone=${() => { toast(`changed ${editing.name}`); setEditing(null); reload(); }} />`}`;
}

function Edit({ row, path, onClose, onDone }) {
  const change = (value) => send("PATCH", path, { changes: { [row.name]: value } });
  return html`<${Dialog} title=${row.name} onClose=${onClose}>
    <${Form} onSubmit=${(form) => change(form.get("reset") ? null : form.get("value"))} onDone=${onDone} onCancel=${onClose}>
      <p>${row.meaning}</p>
      <${Field} label="Value" hint=${row.default === null ? "" : `The default is ${row.default === "" ? "empty" : row.default}.`}>
        ${row.type === "boolean" ? html`<select name="value"><option selected=${row.value === "true"}>true</option><option selected=${row.value === "false"}>false</option></select>` : html`<input name="value" defaultValue=${row.sensitive ? "" : row.value} type=${row.type === "password" ? "password" : "text"} autofocus autocomplete="off" spellcheck=${false} />`}<//>
      ${!row.is_default && html`<label class="check"><input type="checkbox" name="reset" value="1" /> back to the default</label>`}
    <//><//>`;
}
