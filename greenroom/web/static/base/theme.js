// The theme: that of the system, or the one that was chosen in this browser.

const KEY = "greenroom.theme";
const ORDER = ["system", "light", "dark"];

/** Return the choice: `system`, `light` or `dark`. */
export function theme() {
  return document.documentElement.dataset.theme ?? "system";
}

/** Choose the next theme, and return its name. */
export function nextTheme() {
  const next = ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length];
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // It lasts as long as the page.
  }
  return next;
}
