// A value of a record: JSON as a tree that folds, text, hexadecimal. Large parts are folded until somebody asks.
import { html, useMemo, useState } from "./dom.js";
import { bytes, whole } from "./format.js";
import { parse } from "./json.js";
import { Badge } from "./ui.js";

const LONG_TEXT = 400;
const MANY = 100;

export function Value({ shown, label }) {
  const [raw, setRaw] = useState(false);
  const tree = useMemo(() => (shown.kind === "json" ? parse(shown.text) : null), [shown]);
  return html`<div class="value"><div class="tools"><b>${label}</b> <${Badge} title=${shown.reason}>${shown.kind}<//> <span class="dim">${bytes(shown.bytes)}</span>
      ${shown.schema_id !== null && shown.schema_id !== undefined && html`<${Badge}>schema ${shown.schema_id}<//>`}
      ${shown.truncated && html`<${Badge} kind="warning">only the beginning is shown<//>`}
      ${tree && html`<button class="plain" aria-pressed=${raw} onClick=${() => setRaw(!raw)}>as written</button>`}</div>
    ${tree && !raw ? html`<div class="json mono"><${Node} node=${tree} open=${true} /></div>` : html`<${Text} text=${shown.text} quiet=${shown.kind === "null" || shown.kind === "empty"} />`}</div>`;
}

function Text({ text, quiet }) {
  const [shown, setShown] = useState(20000);
  return html`<pre class=${quiet ? "dim" : ""}>${text.slice(0, shown)}${text.length > shown && html`<button onClick=${() => setShown(shown * 10)}>… ${whole(text.length - shown)} more characters</button>`}</pre>`;
}

function Node({ node, name, open }) {
  const [unfolded, setUnfolded] = useState(open);
  const [many, setMany] = useState(MANY);
  const label = name !== undefined && html`<span class="name">${name}</span>: `;
  if (node.kind === "string") return html`<div>${label}<${Words} text=${node.value} /></div>`;
  if (node.kind === "literal") return html`<div>${label}<span class="literal">${node.text}</span></div>`;
  const children = node.kind === "object" ? node.entries : node.items.map((each, index) => [index, each]);
  const [left, right] = node.kind === "object" ? "{}" : "[]";
  if (!children.length) return html`<div>${label}${left}${right}</div>`;
  return html`<div><button class="fold" aria-expanded=${unfolded} onClick=${() => setUnfolded(!unfolded)}><span aria-hidden="true">${unfolded ? "▾" : "▸"}</span> ${label}${left}${!unfolded && html`<span class="dim"> ${children.length} ${right}</span>`}</button>
    ${unfolded && html`<div class="inner">${children.slice(0, many).map(([key, each]) => html`<${Node} key=${key} node=${each} name=${node.kind === "object" ? key : undefined} open=${children.length <= 20} />`)}${children.length > many && html`<button onClick=${() => setMany(many * 10)}>${whole(children.length - many)} more</button>`}</div><div>${right}</div>`}</div>`;
}

function Words({ text }) {
  const [all, setAll] = useState(text.length <= LONG_TEXT);
  return html`<span class="string">"${all ? text : text.slice(0, LONG_TEXT)}${all ? '"' : html`<button onClick=${() => setAll(true)}>… ${whole(text.length - LONG_TEXT)} more characters</button>`}</span>`;
}
