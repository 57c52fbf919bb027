// Addresses: /c/CLUSTER/PAGE/REST?query. A link is an ordinary <a>; clicks on it stay in the page.
import { useEffect, useState } from "./dom.js";

function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; } // an address that somebody typed
}

export function where() {
  const parts = location.pathname.split("/").filter(Boolean).map(decoded);
  const query = Object.fromEntries(new URLSearchParams(location.search));
  if (parts[0] !== "c") return { cluster: null, page: "overview", rest: [], query };
  return { cluster: parts[1] || null, page: parts[2] || "overview", rest: parts.slice(3), query };
}

export function to(cluster, page = "overview", rest = [], query = {}) {
  const path = ["c", cluster, page, ...rest].map(encodeURIComponent).join("/");
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return `/${path}${pairs.length ? `?${new URLSearchParams(pairs)}` : ""}`;
}

export function go(address, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new Event("moved"));
}

export function useWhere() {
  const [place, setPlace] = useState(where());
  useEffect(() => {
    const moved = () => setPlace(where());
    const clicked = (event) => {
      const link = event.target.closest?.("a[href]");
      if (!link || link.target || link.hasAttribute("download") || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      const target = new URL(link.href);
      if (target.origin !== location.origin || target.pathname.startsWith("/api/")) return;
      event.preventDefault();
      go(target.pathname + target.search);
      document.querySelector("main")?.focus({ preventScroll: true });
      scrollTo(0, 0);
    };
    addEventListener("popstate", moved);
    addEventListener("moved", moved);
    document.addEventListener("click", clicked);
    return () => {
      removeEventListener("popstate", moved);
      removeEventListener("moved", moved);
      document.removeEventListener("click", clicked);
    };
  }, []);
  return place;
}
