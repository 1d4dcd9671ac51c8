import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ThemeSwitch } from "../parts/common";
import * as api from "./api";
import { KernelView } from "./kernel";
import { MachineView } from "./machines";

/** Draw the studio into `root`. */
export function startStudio(root: HTMLElement): void {
  render(<Studio />, root);
}

function Studio() {
  const [start, setStart] = useState<api.Start | null>(null);
  const [failed, setFailed] = useState("");
  const [tab, setTab] = useState<"kernel" | "machines">("kernel");
  const [mine, setMine] = useState<string | null>(null);
  useEffect(() => { api.start().then(setStart).catch((error) => setFailed(String(error.message))); }, []);
  return (
    <div class="page">
      <header class="top">
        <h1 class="fill">Placewise studio</h1>
        <nav aria-label="Views" class="controls" style="margin:0">
          <button aria-current={tab === "kernel" ? "page" : undefined} class={tab === "kernel" ? "main" : ""} onClick={() => setTab("kernel")}>Kernel</button>
          <button aria-current={tab === "machines" ? "page" : undefined} class={tab === "machines" ? "main" : ""} onClick={() => setTab("machines")}>Machines</button>
        </nav>
        <ThemeSwitch />
      </header>
      {failed ? <div class="finding error" role="alert">{failed}</div> : null}
      {start ? (
        <main>
          <KernelView start={start} mine={mine} hidden={tab !== "kernel"} />
          <MachineView start={start} hidden={tab !== "machines"} onMine={setMine} />
          <footer>Placewise {start.version}. Runs on this computer alone; a run may take {start.seconds} s. No GPU is used.</footer>
        </main>
      ) : failed ? null : <p>Loading …</p>}
    </div>
  );
}
