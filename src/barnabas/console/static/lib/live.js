// What a page shows, asked again with each look at the cluster. A tab has one stream; a hidden tab asks for nothing.
import { address, get } from "./api.js";
import { createContext, useContext, useEffect, useRef, useState } from "./dom.js";

export const Look = createContext({ look: 0, at: 0, problem: "" });

// The stream of looks of a cluster, for the whole page.
export function useLooks(cluster, enabled) {
  const [look, setLook] = useState({ look: 0, at: 0, problem: "" });
  useEffect(() => {
    if (!cluster || !enabled) return undefined;
    let source = null;
    let again = 0;
    let failing = 0;
    const open = () => {
      if (source || document.hidden) return;
      source = new EventSource(address(cluster, "/live"));
      source.addEventListener("look", (event) => { clearTimeout(failing); failing = 0; setLook(JSON.parse(event.data)); });
      source.onerror = () => {
        failing ||= setTimeout(() => setLook((last) => ({ ...last, silent: true })), 3000); // a stream that ends is opened again within a second
        if (source?.readyState !== EventSource.CLOSED) return; // else the browser connects again by itself
        close();
        again = setTimeout(open, 2000);
        get(address(cluster, "/history")).catch(() => {}); // whoever has signed out elsewhere is told so by this
      };
    };
    const close = () => { clearTimeout(again); source?.close(); source = null; };
    const seen = () => (document.hidden ? close() : open());
    open();
    document.addEventListener("visibilitychange", seen);
    return () => { document.removeEventListener("visibilitychange", seen); close(); clearTimeout(failing); };
  }, [cluster, enabled]);
  return look;
}

// [data, problem, reload]: GET of an address, at once and with each look; the last data stays while the next comes.
export function useLive(path, { every = 1 } = {}) {
  const { look } = useContext(Look);
  const [state, setState] = useState({ path: null, data: null, problem: null });
  const [asked, setAsked] = useState(0);
  const busy = useRef(null);
  const turn = Math.floor(look / every);
  useEffect(() => {
    if (!path) return undefined;
    if (busy.current && busy.current.path === path && asked === busy.current.asked) return undefined;
    busy.current?.abort.abort();
    const mine = (busy.current = { path, asked, abort: new AbortController() });
    get(path, mine.abort.signal).then(
      (data) => { if (busy.current === mine) { busy.current = null; setState({ path, data, problem: null }); } },
      (problem) => {
        if (busy.current !== mine) return;
        busy.current = null;
        if (problem.name !== "AbortError") setState((last) => ({ path, data: last.path === path ? last.data : null, problem }));
      });
    return undefined;
  }, [path, turn, asked]);
  useEffect(() => () => { busy.current?.abort.abort(); busy.current = null; }, []);
  const here = state.path === path;
  return [here ? state.data : null, here ? state.problem : null, () => setAsked((count) => count + 1)];
}
