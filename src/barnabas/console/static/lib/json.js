// JSON as it was written: a small reader that keeps every number as its digits, since a browser's own would round
// 9007199254740993 to another number. Too deep or broken gives null, and the text is shown as it is.

const DEPTH_MAX = 200;
const TOKEN = /\s*(?:([{}[\],:])|("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/y;

// -> {kind: "object", entries: [[name, node]]} | {kind: "array", items} | {kind: "string", value} | {kind: "literal", text}
export function parse(text) {
  let at = 0;
  let token = null;
  const next = () => {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found) throw new SyntaxError();
    at = TOKEN.lastIndex;
    token = found;
    return token;
  };
  const read = (depth) => {
    if (depth > DEPTH_MAX) throw new SyntaxError();
    if (token[2] !== undefined) return { kind: "string", value: JSON.parse(token[2]) };
    if (token[3] !== undefined) return { kind: "literal", text: token[3] };
    if (token[1] === "{") {
      const entries = [];
      if (next()[1] === "}") return { kind: "object", entries };
      for (;;) {
        if (token[2] === undefined) throw new SyntaxError();
        const name = JSON.parse(token[2]);
        if (next()[1] !== ":") throw new SyntaxError();
        next();
        entries.push([name, read(depth + 1)]);
        if (next()[1] === "}") return { kind: "object", entries };
        if (token[1] !== ",") throw new SyntaxError();
        next();
      }
    }
    if (token[1] === "[") {
      const items = [];
      if (next()[1] === "]") return { kind: "array", items };
      for (;;) {
        items.push(read(depth + 1));
        if (next()[1] === "]") return { kind: "array", items };
        if (token[1] !== ",") throw new SyntaxError();
        next();
      }
    }
    throw new SyntaxError();
  };
  try {
    next();
    const found = read(0);
    return text.slice(at).trim() ? null : found;
  } catch {
    return null;
  }
}

// ".member.name", ".items[0].price" -> the node there, or null
export function field(node, path) {
  let found = node;
  for (const step of path.matchAll(/\.([^.[\]]+)|\[(\d+)\]/g)) {
    if (!found) return null;
    if (step[1] !== undefined) found = found.kind === "object" ? (found.entries.findLast(([name]) => name === step[1])?.[1] ?? null) : null;
    else found = found.kind === "array" ? (found.items[Number(step[2])] ?? null) : null;
  }
  return found;
}

export function compact(node) {
  if (!node) return "";
  if (node.kind === "string") return node.value;
  if (node.kind === "literal") return node.text;
  return written(node);
}

export function written(node, indent = null, depth = 0) {
  if (node.kind === "string") return JSON.stringify(node.value);
  if (node.kind === "literal") return node.text;
  const parts = node.kind === "object" ? node.entries.map(([name, each]) => `${JSON.stringify(name)}: ${written(each, indent, depth + 1)}`) : node.items.map((each) => written(each, indent, depth + 1));
  const [open, close] = node.kind === "object" ? ["{", "}"] : ["[", "]"];
  if (!parts.length) return open + close;
  if (indent === null) return `${open}${parts.join(", ")}${close}`;
  const space = "\n" + indent.repeat(depth + 1);
  return `${open}${space}${parts.join(`,${space}`)}\n${indent.repeat(depth)}${close}`;
}

// Paths of the scalar fields of a node, for the table of chosen fields.
export function paths(node, prefix = "", found = []) {
  if (!node || found.length >= 100) return found;
  if (node.kind === "object") for (const [name, each] of node.entries) { if (/^[^.[\]]+$/.test(name)) paths(each, `${prefix}.${name}`, found); }
  else if (node.kind !== "array") { if (prefix) found.push(prefix); }
  return found;
}
