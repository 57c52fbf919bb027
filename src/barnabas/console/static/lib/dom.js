// What pages are written with: html`...` templates and hooks. Text is always text, never HTML.
import { h, render, Fragment, createContext } from "../vendor/preact.js";
import htm from "../vendor/htm.js";
export { useState, useEffect, useMemo, useRef, useCallback, useContext, useLayoutEffect, useErrorBoundary, useId } from "../vendor/hooks.js";

const TYPED = new Set(["input", "textarea", "select"]);

// A control without a handler belongs to the person who types in it: `value` and `checked` are what it begins with.
// Pages are drawn anew every two seconds, which would otherwise put the beginning back.
function element(type, given, ...children) {
  if (!TYPED.has(type) || !given || given.onInput || given.onChange) return h(type, given, ...children);
  const { value, checked, ...props } = given;
  if (checked !== undefined) props.defaultChecked = checked;
  if (value === undefined) return h(type, props, ...children);
  if (props.type === "checkbox" || props.type === "radio") props.value = value;
  else if (type === "select") props.ref = (control) => { if (control && !control.begun) { control.begun = true; control.value = value; } };
  else props.defaultValue = value;
  return h(type, props, ...children);
}

export const html = htm.bind(element);
export { h, render, Fragment, createContext };
