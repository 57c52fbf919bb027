// The parts that pages are made of: notices, tables, dialogs, messages in the corner.
import { Fragment, html, useEffect, useId, useMemo, useRef, useState } from "./dom.js";

export function Notice({ kind = "bad", children, action }) {
  return html`<div class=${`notice ${kind}`} role=${kind === "bad" ? "alert" : "status"}><div>${children}</div>${action}</div>`;
}

export const ProblemNotice = ({ problem }) =>
  problem && html`<${Notice}><strong>${problem.message}${problem.wayOut && "."}</strong>${problem.wayOut && html` ${problem.wayOut}`}<//>`;

export const Loading = ({ what = "Loading" }) => html`<p class="loading" role="status">${what} …</p>`;

export const Empty = ({ children }) => html`<div class="empty">${children}</div>`;

export const Badge = ({ kind = "", title, children }) => html`<span class=${`badge ${kind}`} title=${title}>${children}</span>`;

export function Bar({ share, label, kind = "" }) {
  const percent = Math.max(0, Math.min(100, Math.round(share * 1000) / 10));
  return html`<div class=${`bar ${kind}`} role="progressbar" aria-valuenow=${percent} aria-valuemin="0" aria-valuemax="100" aria-label=${label}>
    <span ref=${(element) => { if (element) element.style.width = `${percent}%`; }}></span></div>`;
}

// --- tables ------------------------------------------------------------------------------------------------------------

// columns: [{key, title, show(row), sort(row), number, wide}]; rows beyond `step` come when asked for, so that ten
// thousand topics cost no more than the first hundred. `pinned` rows come before all others.
export function Table({ rows, columns, id, sortBy, descending = false, label, empty = "Nothing here.", step = 200, rowClass, onOpen, pinned }) {
  const [order, setOrder] = useState({ key: sortBy ?? columns[0].key, down: descending });
  const [shown, setShown] = useState(step);
  const sorted = useMemo(() => {
    const column = columns.find((each) => each.key === order.key) ?? columns[0];
    const value = column.sort ?? ((row) => row[column.key]);
    const known = (each) => each !== null && each !== undefined;
    const compared = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (!known(x) || !known(y)) return known(x) ? -1 : known(y) ? 1 : 0; // what is unknown comes last, both ways
      const result = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return order.down ? -result : result;
    };
    const first = pinned ?? (() => false);
    return [...rows].sort((a, b) => Number(first(b)) - Number(first(a)) || compared(a, b));
  }, [rows, order, columns]);
  if (!rows.length) return html`<${Empty}>${empty}<//>`;
  const turn = (column) => setOrder({ key: column.key, down: order.key === column.key ? !order.down : Boolean(column.number) });
  const move = (event) => {
    const row = event.target.closest("tr");
    const next = event.key === "ArrowDown" ? row?.nextElementSibling : event.key === "ArrowUp" ? row?.previousElementSibling : null;
    const link = next?.querySelector("a, button");
    if (link) { event.preventDefault(); link.focus(); }
  };
  return html`<div class="scroll" tabindex="-1"><table aria-label=${label}>
    <thead><tr>${columns.map((column) => html`<th key=${column.key} scope="col" class=${column.number ? "number" : ""}
        aria-sort=${order.key === column.key ? (order.down ? "descending" : "ascending") : "none"}>
        ${column.title ? html`<button class="sort" onClick=${() => turn(column)}>${column.title}<span aria-hidden="true">${order.key === column.key ? (order.down ? " ↓" : " ↑") : ""}</span></button>` : html`<span class="unseen">${column.unseen ?? "actions"}</span>`}</th>`)}</tr></thead>
    <tbody onKeyDown=${move}>${sorted.slice(0, shown).map((row) => html`<tr key=${id(row)} class=${rowClass?.(row) ?? ""} onDblClick=${onOpen && (() => onOpen(row))}>
      ${columns.map((column) => html`<td key=${column.key} class=${`${column.number ? "number" : ""} ${column.wide ? "wide" : ""}`}>${column.show ? column.show(row) : row[column.key]}</td>`)}</tr>`)}</tbody>
  </table>
  ${sorted.length > shown && html`<button class="more" onClick=${() => setShown(shown + step * 5)}>Show more: ${shown} of ${sorted.length}</button>`}</div>`;
}

export function Filter({ value, onInput, label = "Filter", placeholder }) {
  const id = useId();
  return html`<label class="filter" for=${id}><span class="unseen">${label}</span>
    <input id=${id} type="search" data-filter value=${value} placeholder=${placeholder ?? `${label}  ( / )`} autocomplete="off" spellcheck=${false} onInput=${(event) => onInput(event.target.value)} /></label>`;
}

// --- dialogs -----------------------------------------------------------------------------------------------------------

export function Dialog({ title, onClose, children, wide = false }) {
  const box = useRef(null);
  const id = useId();
  useEffect(() => {
    const element = box.current;
    element.showModal();
    return () => element.close();
  }, []);
  return html`<dialog ref=${box} class=${wide ? "wide" : ""} aria-labelledby=${id} onCancel=${(event) => { event.preventDefault(); onClose(); }}
      onMouseDown=${(event) => event.target === box.current && onClose()}>
    <header><h2 id=${id}>${title}</h2><button class="plain" aria-label="Close" onClick=${onClose}>✕</button></header>
    <div class="inside">${children}</div></dialog>`;
}

export function Field({ label, hint, children }) {
  return html`<label class="field"><span>${label}</span>${children}${hint && html`<small>${hint}</small>`}</label>`;
}

// A field of a form that nobody listens to has defaultValue, not value: that would be set again with each look.
// A form that does one thing: shows that it is under way, the problem if there is one, and closes when it is done.
export function Form({ onSubmit, onDone, onCancel, submit = "Save", danger = false, disabled = false, children }) {
  const [state, setState] = useState({ busy: false, problem: null });
  const submitted = async (event) => {
    event.preventDefault();
    setState({ busy: true, problem: null });
    try {
      const result = await onSubmit(new FormData(event.target));
      setState({ busy: false, problem: null });
      onDone?.(result);
    } catch (problem) {
      setState({ busy: false, problem });
    }
  };
  return html`<form onSubmit=${submitted}>${children}<${ProblemNotice} problem=${state.problem} />
    <div class="actions">${onCancel && html`<button type="button" onClick=${onCancel}>Cancel</button>`}
      <button type="submit" class=${danger ? "danger" : "primary"} disabled=${disabled || state.busy}>${state.busy ? "…" : submit}</button></div></form>`;
}

// What cannot be undone is confirmed by typing its name.
export function ConfirmByName({ title, name, what, submit, onSubmit, onClose, onDone }) {
  const [typed, setTyped] = useState("");
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Form} danger submit=${submit} disabled=${typed !== name} onSubmit=${onSubmit} onCancel=${onClose} onDone=${onDone}>
      <p>${what}</p>
      <${Field} label=${html`Type <b>${name}</b> to confirm`}><input name="typed" autocomplete="off" spellcheck=${false} value=${typed} onInput=${(event) => setTyped(event.target.value)} /><//>
    <//><//>`;
}

// --- messages in the corner ------------------------------------------------------------------------------------------------

const messages = { list: [], tell: () => {} };

export function toast(text, kind = "good") {
  const message = { text, kind, id: Math.random() };
  messages.list = [...messages.list, message].slice(-4);
  messages.tell();
  setTimeout(() => { messages.list = messages.list.filter((each) => each !== message); messages.tell(); }, kind === "bad" ? 10000 : 4000);
}

export function Toasts() {
  const [, again] = useState(0);
  useEffect(() => { messages.tell = () => again((count) => count + 1); return () => { messages.tell = () => {}; }; }, []);
  return html`<div class="toasts" role="status" aria-live="polite">${messages.list.map((each) => html`<div key=${each.id} class=${`toast ${each.kind}`}>${each.text}</div>`)}</div>`;
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("copied");
  } catch {
    toast("the browser did not allow to copy", "bad");
  }
}

// Parts of a page as links: [[key, title, badge]]; the address of each is link(key).
export const Tabs = ({ label, tabs, now, link }) => html`<nav class="tabs" aria-label=${label}>${tabs.map(([key, title, badge]) => html`<a key=${key} href=${link(key)} aria-current=${key === now ? "page" : undefined}>${title}${badge ? html` <span class="badge">${badge}</span>` : ""}</a>`)}</nav>`;

// A secret that is shown once, with a button to copy it.
export const Once = ({ label, value }) => html`<div class="once"><span>${label}</span><code>${value}</code><button type="button" onClick=${() => copy(value)}>Copy</button></div>`;

export const Page = ({ title, actions, children }) => html`<${Fragment}>
  <header class="page"><h1>${title}</h1><div class="actions">${actions}</div></header>${children}<//>`;
