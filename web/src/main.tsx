import { render } from "preact";
import "./style.css";
import { ReportView } from "./report/report";
import { startStudio } from "./studio/studio";
import { applyTheme } from "./theme";
import type { Page } from "./types";

const root = document.getElementById("placewise");
const data = document.getElementById("placewise-page");
applyTheme();
if (root && data) {
  root.replaceChildren();
  render(<ReportView page={JSON.parse(data.textContent ?? "{}") as Page} />, root);
} else if (root && root.dataset.studio !== undefined) {
  root.replaceChildren();
  startStudio(root);
}
