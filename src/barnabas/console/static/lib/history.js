// The samples of the last hour that the console keeps.
import { get } from "./api.js";
import { useContext, useEffect, useState } from "./dom.js";
import { useHere } from "./here.js";
import { Look } from "./live.js";

// The whole hour once, then only what is new with each look.
export function useHistory(names) {
  const here = useHere();
  const { look } = useContext(Look);
  const [kept, setKept] = useState({ key: "", data: null });
  const key = names.join("|");
  useEffect(() => {
    let gone = false;
    const since = kept.key === key && kept.data?.time.length ? Math.floor(kept.data.time.at(-1)) : 0;
    get(here.api("/history", { series: names, since })).then((found) => {
      if (gone) return;
      const from = found.time[0] ?? Infinity;
      const before = since ? kept.data.time.filter((each) => each < from).length : 0;
      const joined = { time: [...(since ? kept.data.time.slice(0, before) : []), ...found.time].slice(-1800) };
      for (const name of names) joined[name] = [...(since ? kept.data[name].slice(0, before) : []), ...found[name]].slice(-1800);
      setKept({ key, data: joined });
    }, () => {});
    return () => { gone = true; };
  }, [look, key]);
  return kept.key === key ? kept.data : null;
}
