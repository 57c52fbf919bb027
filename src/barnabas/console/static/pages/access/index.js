// Access: users, rules, who may do what, quotas, tokens, the audit trail, what this console changed.
import { html } from "../../lib/dom.js";
import { useHere } from "../../lib/here.js";
import { useLive } from "../../lib/live.js";
import { Loading, Notice, Page, ProblemNotice, Tabs } from "../../lib/ui.js";
import { Audit } from "./audit.js";
import { Changes } from "./changes.js";
import { Quotas } from "./quotas.js";
import { Rules } from "./rules.js";
import { Tokens } from "./tokens.js";
import { Users } from "./users.js";
import { WhoMay } from "./who.js";

// [name, title, component, only with access control]
const PARTS = [
  ["users", "Users", Users, false], ["rules", "Rules", Rules, true], ["who", "Who may …?", WhoMay, true], ["quotas", "Quotas", Quotas, false],
  ["tokens", "Tokens", Tokens, true], ["audit", "Audit trail", Audit, false], ["changes", "Changes here", Changes, false],
];

export function Access() {
  const here = useHere();
  const [data, problem] = useLive(here.api("/access"), { every: 15 });
  if (!data) return problem ? html`<${Page} title="Access"><${ProblemNotice} problem=${problem} /><//>` : html`<${Loading} />`;
  const parts = PARTS.filter(([, , , secured]) => data.on || !secured);
  const [name, , part] = parts.find(([key]) => key === here.place.rest[0]) ?? parts[0];
  return html`<${Page} title="Access">
    ${!data.on && html`<${Notice} kind="warning"><strong>Access control is off.</strong> Whoever reaches this cluster may do everything. To switch it on, start the nodes with <code>barnabas up --secure</code>, or set authorizer.class.name and super.users; docs/security.md says how.<//>`}
    <${Tabs} label="Parts of access" tabs=${parts.map(([key, title]) => [key, title])} now=${name} link=${(key) => here.link("access", [key])} />
    <${part} key=${name} operations=${data.operations} />
  <//>`;
}
