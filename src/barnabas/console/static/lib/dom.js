// What pages are written with: html`...` templates and hooks. Text is always text, never HTML.
import { h, render, Fragment, createContext } from "../vendor/preact.js";
import htm from "../vendor/htm.js";
export { useState, useEffect, useMemo, useRef, useCallback, useContext, useLayoutEffect, useErrorBoundary, useId } from "../vendor/hooks.js";

export const html = htm.bind(h);
export { h, render, Fragment, createContext };
