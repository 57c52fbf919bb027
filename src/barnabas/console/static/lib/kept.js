// State that a browser keeps between visits: how a person likes a list.
import { useState } from "./dom.js";

export function useKept(name, initial) {
  const [value, setValue] = useState(() => {
    try { return JSON.parse(localStorage.getItem(`kept.${name}`)) ?? initial; } catch { return initial; }
  });
  return [value, (next) => {
    setValue(next);
    try { localStorage.setItem(`kept.${name}`, JSON.stringify(next)); } catch { /* storage is off: for this visit */ }
  }];
}
