// Users that log in by SCRAM.
import { html, useMemo, useState } from "../../lib/dom.js";
import { send } from "../../lib/api.js";
import { whole } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { Badge, ConfirmByName, Dialog, Field, Filter, Form, Loading, Once, ProblemNotice, Table, toast } from "../../lib/ui.js";

export function Users() {
  const here = useHere();
  const [users, problem, reload] = useLive(here.api("/access/users"), { every: 5 });
  const [wanted, setWanted] = useState("");
  const [doing, setDoing] = useState(null);
  const rows = useMemo(() => (users ?? []).filter((each) => each.name.toLowerCase().includes(wanted.toLowerCase())), [users, wanted]);
  const columns = useMemo(() => [
    { key: "name", title: "User", wide: true, show: (row) => html`<b>${row.name}</b>${row.name === here.user && html` <${Badge}>you<//>`}` },
    { key: "mechanisms", title: "Logs in by", sort: (row) => row.mechanisms.join(), show: (row) => row.mechanisms.join(", ") },
    { key: "rules", title: "", unseen: "rules", show: (row) => html`<a href=${here.link("access", ["rules"], { user: row.name })}>Rules</a>` },
    ...(here.mayChange ? [{ key: "actions", title: "", show: (row) => html`<div class="row-actions">
      <button aria-label=${`New password for ${row.name}`} onClick=${() => setDoing({ what: "password", name: row.name })}>Password …</button>
      <button class="danger" aria-label=${`Delete ${row.name}`} onClick=${() => setDoing({ what: "delete", name: row.name })}>Delete …</button></div>` }] : []),
  ], [here.cluster, here.user, here.mayChange]);
  if (!users) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  const end = () => setDoing(null);
  return html`<div class="tools"><${Filter} label="Filter users" value=${wanted} onInput=${setWanted} /><span class="dim">${whole(rows.length)} of ${whole(users.length)}</span>
      ${here.mayChange && html`<div class="actions"><button class="primary" onClick=${() => setDoing({ what: "create" })}>Create user</button></div>`}</div>
    <${Table} label="Users" id=${(row) => row.name} rows=${rows} columns=${columns} empty=${users.length ? "No user has such a name." : "There is no user yet. Create one here, or with: barnabas user create NAME"} />
    ${doing?.what === "create" && html`<${Secret} title="Create user" submit="Create" path=${here.api("/access/users")} method="POST" onClose=${end} onDone=${reload} />`}
    ${doing?.what === "password" && html`<${Secret} title=${`New password for ${doing.name}`} user=${doing.name} submit="Change password" path=${here.api(`/access/users/${encodeURIComponent(doing.name)}/password`)} method="PUT" onClose=${end} onDone=${reload} />`}
    ${doing?.what === "delete" && html`<${ConfirmByName} title="Delete user" name=${doing.name} submit="Delete" onClose=${end} what="It cannot log in any more. Connections that are logged in go on until they end, and its rules stay." onSubmit=${() => send("DELETE", here.api(`/access/users/${encodeURIComponent(doing.name)}`))} onDone=${() => { toast(`deleted ${doing.name}`); end(); reload(); }} />`}`;
}

// Asks for a password, or has one made; a made one is shown once.
function Secret({ title, user, submit, path, method, onClose, onDone }) {
  const [made, setMade] = useState(null);
  const [own, setOwn] = useState(false);
  const sent = (form) => send(method, path, { ...(user ? {} : { name: form.get("name").trim() }), password: own ? form.get("password") : null });
  const done = (result) => { onDone(); if (result.password) setMade(result); else { toast(`${result.name} can log in`); onClose(); } };
  if (made) {
    return html`<${Dialog} title=${title} onClose=${onClose}><p><b>${made.name}</b> can log in with this password. It is not kept anywhere: copy it now.</p>
      <${Once} label="Password" value=${made.password} /><p class="dim">What the user may do is said by rules.</p><div class="actions"><button class="primary" onClick=${onClose}>Done</button></div><//>`;
  }
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Form} submit=${submit} onSubmit=${sent} onDone=${done} onCancel=${onClose}>
      ${!user && html`<${Field} label="Name"><input name="name" required maxlength="200" autofocus autocomplete="off" spellcheck=${false} /><//>`}
      <label class="check"><input type="checkbox" checked=${own} onChange=${(event) => setOwn(event.target.checked)} /> choose the password myself</label>
      ${own && html`<${Field} label="Password"><input name="password" type="password" required autocomplete="new-password" /><//>`}
    <//><//>`;
}
