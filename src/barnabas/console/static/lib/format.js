// Numbers as people read them.

export function count(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(size >= 1e10 ? 1 : 2)} G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(size >= 1e7 ? 1 : 2)} M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  return Number.isInteger(value) ? String(value) : value.toFixed(size >= 100 ? 0 : 1);
}

export const whole = (value) => (value === null || value === undefined ? "–" : Number(value).toLocaleString("en"));

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  let size = value;
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (Math.abs(size) < 1024 || unit === "TiB") return `${unit === "B" ? Math.round(size) : size.toFixed(size >= 100 ? 0 : 1)} ${unit}`;
    size /= 1024;
  }
  return "";
}

export const rate = (value, of = "") => (value === null || value === undefined ? "–" : `${count(value)}${of ? ` ${of}` : ""}/s`);

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min ${Math.floor(value % 60)} s`;
  if (value < 86400) return `${Math.floor(value / 3600)} h ${Math.floor((value % 3600) / 60)} min`;
  return `${Math.floor(value / 86400)} d ${Math.floor((value % 86400) / 3600)} h`;
}

export function moment(ms) {
  if (ms === null || ms === undefined || ms < 0) return "–";
  const at = new Date(ms);
  const pad = (number, width = 2) => String(number).padStart(width, "0");
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}.${pad(at.getMilliseconds(), 3)}`;
}

export const ago = (ms) => (ms === null || ms === undefined || ms < 0 ? "–" : `${seconds(Math.max(0, (Date.now() - ms) / 1000))} ago`);
