// Delegation tokens: programs log in with one as a user, without its password.
import { html, useMemo, useState } from "../../lib/dom.js";
import { send } from "../../lib/api.js";
import { moment } from "../../lib/format.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { Dialog, Field, Form, Loading, Once, ProblemNotice, Table, toast } from "../../lib/ui.js";

export function Tokens() {
  const here = useHere();
  const [tokens, problem, reload] = useLive(here.api("/access/tokens"), { every: 5 });
  const [doing, setDoing] = useState(null);
  const renew = async (row) => {
    try { const done = await send("POST", here.api(`/access/tokens/${encodeURIComponent(row.id)}/renew`)); toast(`expires ${moment(done.expires_ms).slice(0, 16)}`); } catch (refused) { toast(refused.message, "bad"); }
    reload();
  };
  const columns = useMemo(() => [
    { key: "id", title: "Token", wide: true, show: (row) => html`<span class="mono">${row.id}</span>` },
    { key: "owner", title: "Owner" },
    { key: "requester", title: "Made by" },
    { key: "renewers", title: "Renewers", sort: (row) => row.renewers.join(), show: (row) => row.renewers.join(", ") || html`<span class="dim">–</span>` },
    { key: "expires_ms", title: "Expires", number: true, show: (row) => moment(row.expires_ms).slice(0, 16) },
    { key: "max_ms", title: "At the latest", number: true, show: (row) => moment(row.max_ms).slice(0, 16) },
    ...(here.mayChange ? [{ key: "actions", title: "", show: (row) => html`<div class="row-actions"><button aria-label=${`Renew ${row.id}`} onClick=${() => renew(row)}>Renew</button><button class="danger" aria-label=${`End ${row.id}`} onClick=${() => setDoing({ what: "end", row })}>End …</button></div>` }] : []),
  ], [here.cluster, here.mayChange]);
  if (!tokens) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Loading} />`;
  const end = () => setDoing(null);
  return html`<div class="tools"><span class="dim">The tokens that you own, have asked for or may renew.</span>${here.mayChange && html`<div class="actions"><button class="primary" onClick=${() => setDoing({ what: "create" })}>Create token</button></div>`}</div>
    <${Table} label="Tokens" id=${(row) => row.id} rows=${tokens} columns=${columns} sortBy="expires_ms" empty="There is no token that you may see. A job that runs without your password gets one here." />
    ${doing?.what === "create" && html`<${Create} onClose=${end} onDone=${reload} />`}
    ${doing?.what === "end" && html`<${Dialog} title="End token" onClose=${end}><${Form} danger submit="End it now" onCancel=${end} onDone=${() => { toast("the token is ended"); end(); reload(); }} onSubmit=${() => send("DELETE", here.api(`/access/tokens/${encodeURIComponent(doing.row.id)}`))}>
      <p>Nobody can log in with <code>${doing.row.id}</code> any more. Connections that are logged in with it go on until it would have expired.</p><//><//>`}`;
}

function Create({ onClose, onDone }) {
  const here = useHere();
  const [made, setMade] = useState(null);
  const submit = (form) => send("POST", here.api("/access/tokens"), { owner: form.get("owner").trim(), renewers: form.get("renewers").split(/[\s,]+/).filter(Boolean), hours: form.get("hours") ? Number(form.get("hours")) : null });
  if (made) {
    return html`<${Dialog} title="Create token" onClose=${onClose}><p>Whoever has these two logs in by SCRAM as <b>${made.owner}</b> until ${moment(made.expires_ms).slice(0, 16)}, with tokenauth=true. The password is not shown again.</p>
      <${Once} label="User" value=${made.id} /><${Once} label="Password" value=${made.hmac} /><div class="actions"><button class="primary" onClick=${onClose}>Done</button></div><//>`;
  }
  return html`<${Dialog} title="Create token" onClose=${onClose}>
    <${Form} submit="Create" onSubmit=${submit} onCancel=${onClose} onDone=${(done) => { setMade(done); onDone(); }}>
      <${Field} label="Owner" hint="Another user needs the right to create tokens for it."><input name="owner" placeholder=${here.user ?? "you"} autocomplete="off" spellcheck=${false} /><//>
      <${Field} label="Renewers" hint="Who else may renew it, with commas."><input name="renewers" autocomplete="off" spellcheck=${false} /><//>
      <${Field} label="Hours at the most" hint="How long it can be renewed."><input name="hours" type="number" min="0.01" step="any" placeholder="as long as the cluster allows" /><//>
    <//><//>`;
}
