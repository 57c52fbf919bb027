// Before the first paint: the theme that was chosen here, else the system's.
{
  let chosen = null;
  try { chosen = localStorage.getItem("theme"); } catch { /* storage is off: the system's */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
