// One subject: its versions, the text of one, what changed since another, its compatibility level.
import { send } from "../../lib/api.js";
import { html, useState } from "../../lib/dom.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { Badge, Field, Loading, Page, ProblemNotice, copy, toast } from "../../lib/ui.js";
import { Register } from "./register.js";

export function Subject({ name }) {
  const here = useHere();
  const [version, setVersion] = useState(0);
  const [adding, setAdding] = useState(false);
  const [data, problem, again] = useLive(here.api("/schemas/subject", { name, version: version || undefined }), { every: 3 });
  const title = html`<a href=${here.link("schemas")}>Schemas</a> / ${name}`;
  if (!data) return html`<${Page} title=${title}>${problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`}<//>`;
  const level = async (event) => {
    try {
      await send("POST", here.api("/schemas/level"), { subject: name, level: event.target.value });
      toast(`compatibility of ${name} is ${event.target.value}`);
    } catch (trouble) { toast(trouble.message, "bad"); }
    again?.();
  };
  const earlier = data.versions.filter((each) => each < data.version).at(-1);
  return html`<${Page} title=${title} actions=${html`<button onClick=${() => copy(data.text)}>Copy</button>${here.mayChange && html`<button class="primary" onClick=${() => setAdding(true)}>New version</button>`}`}>
    <div class="tools"><${Badge}>${data.type}<//> <span class="dim">id ${data.id}${data.guid && html` · <span class="mono">${data.guid}</span>`}</span></div>
    <div class="grid two"><${Field} label="Version"><select value=${data.version} onChange=${(event) => setVersion(Number(event.target.value))}>${data.versions.map((each) => html`<option key=${each} value=${each} selected=${each === data.version}>${each}</option>`)}</select><//>
      <${Field} label="Compatibility"><select disabled=${!here.mayChange} value=${data.level} onChange=${level}>${data.levels.map((each) => html`<option key=${each} value=${each} selected=${each === data.level}>${each}</option>`)}</select><//></div>
    ${data.references.length > 0 && html`<p>Refers to ${data.references.map((each, place) => html`${place > 0 && ", "}<a key=${each.name} href=${here.link("schemas", [each.subject])}>${each.name}</a> (version ${each.version})`)}</p>`}
    ${data.referenced_by.length > 0 && html`<p class="dim">Schemas that refer to it: ${data.referenced_by.map((each) => `id ${each}`).join(", ")}</p>`}
    ${earlier && html`<${Difference} key=${`${earlier}-${data.version}`} name=${name} versions=${data.versions} first=${earlier} now=${data.version} />`}
    <section class="panel"><h2>Schema</h2><div class="scroll" tabindex="0"><pre class="mono">${data.text}</pre></div></section>
    ${adding && html`<${Register} subject=${name} type=${data.type} text=${data.text} references=${data.references} onClose=${() => setAdding(false)} onDone=${(made) => { setVersion(made.version); again?.(); }} />`}
  <//>`;
}

function Difference({ name, versions, first, now }) {
  const here = useHere();
  const [old, setOld] = useState(first);
  const [data, problem] = useLive(here.api("/schemas/difference", { name, old, new: now }), { every: 10 });
  return html`<section class="panel"><h2>What changed</h2>
    <${Field} label="Since version"><select value=${old} onChange=${(event) => setOld(Number(event.target.value))}>${versions.filter((each) => each !== now).map((each) => html`<option key=${each} value=${each} selected=${each === old}>${each}</option>`)}</select><//>
    ${!data ? (problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`)
    : html`<ul>${(data.changes.length ? data.changes : ["Nothing that counts."]).map((each, place) => html`<li key=${place}>${each}</li>`)}</ul>
      ${data.lines.length > 0 && html`<details><summary>Line by line</summary><div class="scroll" tabindex="0"><pre class="mono">${data.lines.map((line, place) => html`<span key=${place} class=${line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "dim"}>${`${line}\n`}</span>`)}</pre></div></details>`}`}
  </section>`;
}
