// Requests to the console. An answer that is a problem becomes a Problem, with the way out that the server named.

export class Problem extends Error {
  constructor(message, wayOut = "", status = 0) {
    super(message);
    this.wayOut = wayOut;
    this.status = status;
  }
}

let csrf = "";
let onSignedOut = () => {};

export function whenSignedOut(callback) {
  onSignedOut = callback;
}

async function ask(method, path, body, signal) {
  const headers = method === "GET" ? {} : { "X-CSRF-Token": csrf, "Content-Type": "application/json" };
  let answer;
  try {
    answer = await fetch(path, { method, headers, signal, credentials: "same-origin", body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("the console does not answer", "Is it still running?");
  }
  if (answer.ok) {
    const type = answer.headers.get("content-type") || "";
    return type.startsWith("application/json") ? answer.json() : answer;
  }
  let told = {};
  try { told = await answer.json(); } catch { /* not one of our answers */ }
  const problem = new Problem(told.error || `the console answered ${answer.status}`, told.way_out || "", answer.status);
  if (answer.status === 401 && !path.startsWith("/api/sign-in")) onSignedOut(problem);
  throw problem;
}

// Why a stream was refused, which EventSource does not tell; null where it would be served now.
export async function refusal(path) {
  const abort = new AbortController();
  try {
    await ask("GET", path, undefined, abort.signal);
    return null;
  } catch (problem) {
    return problem;
  } finally {
    abort.abort();
  }
}

export const get = (path, signal) => ask("GET", path, undefined, signal);
export const send = (method, path, body = {}) => ask(method, path, body);

export async function session() {
  const found = await get("/api/session");
  csrf = found.csrf;
  return found;
}

export async function signIn(cluster, user, password) {
  const found = await send("POST", "/api/sign-in", { cluster, user, password });
  csrf = found.csrf;
  return found;
}

export async function signOut() {
  const found = await send("POST", "/api/sign-out");
  csrf = found.csrf;
  return found;
}

// /api/clusters/NAME/..., with a query of single values or lists.
export function address(cluster, path, query = {}) {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).filter((each) => each !== undefined && each !== null && each !== "").map((each) => [name, String(each)]));
  const tail = pairs.length ? `?${new URLSearchParams(pairs)}` : "";
  return `/api/clusters/${encodeURIComponent(cluster)}${path}${tail}`;
}
