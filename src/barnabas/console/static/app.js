// The frame around every page: clusters, navigation, signing in, the stream of looks, keys.
import { session, signIn, signOut, whenSignedOut } from "./lib/api.js";
import { html, render, useEffect, useErrorBoundary, useState } from "./lib/dom.js";
import { Here } from "./lib/here.js";
import { Look, useLooks } from "./lib/live.js";
import { go, to, useWhere } from "./lib/router.js";
import { Field, Form, Loading, Notice, ProblemNotice, Toasts } from "./lib/ui.js";
import { PAGES } from "./pages/index.js";



function App() {
  const place = useWhere();
  const [known, setKnown] = useState(null);
  const [problem, setProblem] = useState(null);
  const load = () => session().then((found) => { setKnown(found); setProblem(null); }, setProblem);
  useEffect(() => { load(); whenSignedOut(() => load()); }, []);
  useKeys(place);
  if (problem) return html`<main class="alone"><${ProblemNotice} problem=${problem} /><button onClick=${load}>Try again</button></main>`;
  if (!known) return html`<${Loading} />`;
  const cluster = known.clusters.find((each) => each.name === place.cluster);
  if (!cluster) {
    if (place.cluster === null && known.clusters.length === 1) { go(to(known.clusters[0].name), { replace: true }); return null; }
    return html`<${Clusters} clusters=${known.clusters} unknown=${place.cluster} />`;
  }
  if (cluster.asks_for_login && !cluster.user) return html`<${SignIn} cluster=${cluster} notice=${known.notice} onDone=${setKnown} />`;
  return html`<${Frame} key=${cluster.name} cluster=${cluster} clusters=${known.clusters} place=${place} onSession=${setKnown} /><${Toasts} />`;
}

function Clusters({ clusters, unknown }) {
  return html`<main class="alone"><h1>Clusters</h1>${unknown && html`<${Notice}>There is no cluster ${unknown} here.<//>`}
    <ul class="cards">${clusters.map((each) => html`<li key=${each.name}><a class="card" href=${to(each.name)}><b>${each.name}</b><br /><small>${each.bootstrap}</small></a></li>`)}</ul></main>`;
}

function SignIn({ cluster, notice, onDone }) {
  if (cluster.at_provider) {
    return html`<main class="alone"><h1>${cluster.name}</h1>${notice && html`<${Notice}>${notice}<//>`}<p>You sign in at your provider. The console can do what your user of this cluster can.</p>
      <p><a class="button primary" href=${`/api/oidc/leave?cluster=${encodeURIComponent(cluster.name)}`}>Sign in</a></p></main>`;
  }
  return html`<main class="alone"><h1>${cluster.name}</h1><p>Sign in with your user of this cluster. The console can do what this user can.</p>
    <${Form} submit="Sign in" onDone=${onDone} onSubmit=${(form) => signIn(cluster.name, form.get("user"), form.get("password"))}>
      <${Field} label="User"><input name="user" autocomplete="username" required autofocus /><//>
      <${Field} label="Password"><input name="password" type="password" autocomplete="current-password" required /><//>
    <//></main>`;
}

function Frame({ cluster, clusters, place, onSession }) {
  const look = useLooks(cluster.name, true);
  const [open, setOpen] = useState(false);
  const page = PAGES.find((each) => each.name === place.page) ?? PAGES[0];
  useEffect(() => { setOpen(false); document.title = [place.rest[0], page.title, cluster.name, "Barnabas"].filter(Boolean).join(" · "); }, [place.page, place.rest[0]]);
  const here = { cluster: cluster.name, user: cluster.user, mayChange: cluster.may_change, maySeeRecords: cluster.may_see_records, role: cluster.role, place };
  return html`<${Here.Provider} value=${here}><${Look.Provider} value=${look}>
    <a class="skip" href="#main">To the content</a>
    <nav class=${`side ${open ? "open" : ""}`} aria-label="Pages">
      <div class="brand"><img src="/static/icon.svg" alt="" width="26" height="26" /><b>Barnabas</b>
        <button class="plain menu" aria-expanded=${open} aria-label="Menu" onClick=${() => setOpen(!open)}>☰</button></div>
      ${clusters.length > 1 && html`<label class="field picker"><span class="unseen">Cluster</span><select value=${cluster.name} onChange=${(event) => go(to(event.target.value, place.page))}>${clusters.map((each) => html`<option key=${each.name} value=${each.name}>${each.name}</option>`)}</select></label>`}
      <ul>${PAGES.map((each) => html`<li key=${each.name}><a href=${to(cluster.name, each.name)} aria-current=${each === page ? "page" : undefined}><span class="icon" aria-hidden="true">${each.icon}</span>${each.title}</a></li>`)}</ul>
      <footer>${cluster.user && html`<div class="who" title=${cluster.role}>${cluster.user}</div><button class="plain" onClick=${async () => { onSession(await signOut()); }}>Sign out</button>`}<${Theme} /></footer>
    </nav>
    <main id="main" tabindex="-1">
      ${look.silent && html`<${Notice}><strong>The console does not answer.</strong> What is shown is old. The page goes on by itself when the console is back.<//>`}
      ${look.problem && !look.silent && html`<${Notice}><strong>${cluster.name} cannot be reached.</strong> ${look.problem}<//>`}
      ${look.problem && !look.at ? html`<p>Nothing is known of it yet. Is a node up, and is ${cluster.bootstrap} its address? The page appears as soon as one answers; <code>barnabas doctor</code> says more.</p>`
      : html`<${Guarded} key=${page.name}><${Shown} page=${page} /><//>`}
    </main><//><//>`;
}

function Shown({ page }) {
  const [component, setComponent] = useState(() => page.component ?? null);
  const [problem, setProblem] = useState(null);
  const load = () => page.load().then((found) => { page.component = found; setComponent(() => found); }, setProblem);
  useEffect(() => { if (!component) load(); }, []);
  if (component) return html`<${component} />`;
  return problem ? html`<${Notice} action=${html`<button onClick=${() => location.reload()}>Load again</button>`}><strong>This page could not be loaded.</strong> ${problem.message}<//>` : html`<${Loading} />`;
}

function Guarded({ children }) {
  const [problem, again] = useErrorBoundary((error) => console.error(error));
  if (problem) return html`<${Notice} action=${html`<button onClick=${again}>Try again</button>`}><strong>This page has a defect:</strong> ${String(problem.message ?? problem)}<//>`;
  return children;
}

function Theme() {
  const turn = () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* for this visit only */ }
  };
  return html`<button class="plain" onClick=${turn} aria-label="Light or dark">◐</button>`;
}

// "/" goes to the filter of the page; "g" and a letter goes to a page.
function useKeys(place) {
  useEffect(() => {
    let going = 0;
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, dialog")) return;
      if (event.key === "/") {
        const filter = document.querySelector("[data-filter]");
        if (filter) { event.preventDefault(); filter.focus(); }
      } else if (event.key === "g") going = Date.now();
      else if (going && Date.now() - going < 1000) {
        going = 0;
        const page = PAGES.find((each) => each.key === event.key);
        if (page && place.cluster) go(to(place.cluster, page.name));
      }
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [place.cluster]);
}

render(html`<${App} />`, document.getElementById("app"));
