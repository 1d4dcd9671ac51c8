// Light or dark: as the system has it, unless the reader chose.

export type Theme = "system" | "light" | "dark";
const KEY = "placewise-theme";

/** What the reader chose last; nothing is kept where the browser keeps nothing for files. */
export function chosenTheme(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}

/** Show the page in the chosen theme. */
export function applyTheme(theme: Theme = chosenTheme()): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new Event("placewise-theme"));
}

/** Keep the choice, and show it. */
export function chooseTheme(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // A page from a file may keep nothing: the choice lasts as long as the page.
  }
  applyTheme(theme);
}
