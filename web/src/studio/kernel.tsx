import { useRef, useState } from "preact/hooks";
import { ReportView } from "../report/report";
import { Block } from "../parts/common";
import type { Page } from "../types";
import * as api from "./api";
import { Editor } from "./editor";
import { InputsForm, whole, type Inputs } from "./inputs";

const KINDS: [string, string][] = [
  ["advise", "Where should each array live?"], ["layout", "How should arrays be laid out?"], ["time", "How long does it take?"],
  ["counters", "What would a profiler count?"], ["lint", "Which lines waste bandwidth?"], ["run", "Is it correct? (run and check)"],
];
const PASTED = `// Paste a kernel here, then press "Read the kernel".
__global__ void scale(const float *table, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * table[index[i]];
}
`;
const NOTHING: Inputs = { kernel: "", block: "256", problem: "1048576", arguments: [] };

interface Progress { step: string; done: number; total: number }

/** Paste or open a kernel, choose inputs and GPU, run, see the report. */
export function KernelView(props: { start: api.Start; mine: string | null; hidden: boolean }) {
  const { start } = props;
  const [example, setExample] = useState("");
  const [original, setOriginal] = useState("");
  const [source, setSource] = useState(PASTED);
  const [inputs, setInputs] = useState<Inputs>(NOTHING);
  const [kind, setKind] = useState("advise");
  const [machines, setMachines] = useState<string[]>(["A100"]);
  const [run, setRun] = useState<string | null>(null);
  const [last, setLast] = useState<string | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [failed, setFailed] = useState<{ message: string; where: string | null; hint: string | null } | null>(null);
  const [page, setPage] = useState<Page | null>(null);
  const current = useRef<string | null>(null);

  const tell = (error: unknown) => setFailed(error instanceof api.Told ? { message: error.message, where: error.where, hint: error.hint } : { message: String(error), where: null, hint: null });
  const open = async (name: string) => {
    setFailed(null);
    if (!name) { setExample(""); setSource(PASTED); setInputs(NOTHING); return; }
    try {
      const found = await api.example(name);
      // Name and source change together, so that no run has one without the other.
      setExample(name);
      setSource(found.source);
      setOriginal(found.source);
    } catch (error) { tell(error); }
  };
  const read = async (): Promise<Inputs> => {
    const found = await api.draft(source);
    const first = found.kernels[0];
    if (!first) throw new api.Told("no __global__ function was found in the source", null, "paste a kernel in CUDA C++");
    const read: Inputs = { kernel: first.kernel, block: found.block.join(", "), problem: found.problem.join(", "), arguments: first.arguments };
    setInputs(read);
    return read;
  };
  const begin = async () => {
    setFailed(null);
    try {
      const asked = inputs.kernel || example ? inputs : await read();
      const request = {
        kind,
        case: example
          ? { example, source: source === original ? null : source }
          : { source, kernel: asked.kernel, block: whole(asked.block), problem: whole(asked.problem), arguments: asked.arguments },
        machines: (kind === "time" ? machines : machines.slice(0, 1)).map((name) => (name === MINE ? { text: props.mine ?? "" } : { name })),
      };
      const started = (await api.run(request)).run;
      current.current = started;
      setRun(started);
      setProgress({ step: "starting", done: 0, total: 0 });
      api.listen(started, (event) => {
        if (current.current !== started) return;
        if (event.event === "progress") { setProgress(event); return; }
        current.current = null;
        setRun(null);
        setProgress(null);
        if (event.event === "done") { setPage(event.page); setLast(started); }
        if (event.event === "failed") setFailed(event);
        if (event.event === "cancelled") setFailed({ message: "cancelled", where: null, hint: null });
      });
    } catch (error) { tell(error); }
  };
  const line = failed?.where?.match(/(?:line |:)(\d+)(?::(\d+))?/);
  const mistake = failed && line && /\.cu|source/.test(failed.where ?? "") ? { line: Number(line[1]), column: Number(line[2] ?? 1), message: failed.message } : null;
  const form = page?.forms.find((f) => f.option !== null && f.source);
  return (
    <div hidden={props.hidden}>
      <Block id="kernel" title="Kernel">
        <div class="controls">
          <label>Start from
            <select value={example} onChange={(e) => open(e.currentTarget.value)}>
              <option value="">a kernel of my own</option>
              {groups(start.examples).map(([group, members]) => (
                <optgroup label={group}>{members.map((m) => <option value={m.name}>{m.name}</option>)}</optgroup>
              ))}
            </select>
          </label>
          {example ? <span class="quiet">{start.examples.find((e) => e.name === example)?.description}</span>
            : <button onClick={() => { setFailed(null); read().catch(tell); }}>Read the kernel</button>}
        </div>
        <Editor text={source} label="Source of the kernel" cpp mistake={mistake} onText={setSource} />
        {example ? <p class="quiet">The example's own inputs and launch are used; its source can be edited.</p>
          : inputs.kernel ? <InputsForm inputs={inputs} onInputs={setInputs} /> : null}
      </Block>
      <Block id="question" title="Question">
        <div class="controls">
          <label>Ask <select value={kind} onChange={(e) => setKind(e.currentTarget.value)}>{KINDS.map(([name, words]) => <option value={name}>{words}</option>)}</select></label>
          {kind === "time" ? <Several start={start} mine={props.mine} chosen={machines} onChosen={setMachines} /> : (
            <label>GPU <select value={machines[0]} onChange={(e) => setMachines([e.currentTarget.value])}><Options start={start} mine={props.mine} /></select></label>
          )}
          <button class="main" disabled={run !== null} onClick={begin}>Run</button>
          <button disabled={run === null} onClick={() => run && api.cancel(run).catch(tell)}>Cancel</button>
        </div>
        <div role="status" aria-live="polite">
          {progress ? <p>{progress.step} … {progress.total ? <progress max={progress.total} value={progress.done} aria-label={progress.step} /> : <progress aria-label={progress.step} />}</p> : null}
        </div>
        {failed ? <div class="finding error" role="alert"><b>{failed.where ? `${failed.where}: ` : ""}{failed.message}</b>{failed.hint ? <p class="quiet">{failed.hint}</p> : null}</div> : null}
      </Block>
      {page && last ? (
        <section class="block" aria-label="Answer">
          <div class="controls no-print">
            <a href={api.reportAddress(last)} download="placewise-report.html">Download the report</a>
            {form ? <button onClick={() => api.download(form.file, form.source)}>Download {form.file} as rewritten</button> : null}
          </div>
          <ReportView key={last} page={page} embedded />
        </section>
      ) : null}
    </div>
  );
}

const MINE = "(mine)";

function Options(props: { start: api.Start; mine: string | null }) {
  return <>{props.mine ? <option value={MINE}>my machine (see Machines)</option> : null}{props.start.machines.map((m) => <option value={m.name}>{m.name}: {m.title}</option>)}</>;
}

function Several(props: { start: api.Start; mine: string | null; chosen: string[]; onChosen: (names: string[]) => void }) {
  const set = (n: number, name: string) => props.onChosen([...new Set(name ? [...props.chosen.slice(0, n), name, ...props.chosen.slice(n + 1)] : props.chosen.filter((_, m) => m !== n))]);
  return (
    <>
      {[...props.chosen, ...(props.chosen.length < 4 ? [""] : [])].map((name, n) => (
        <label>{n ? "and" : "on"} <select value={name} style="width:12em" aria-label={`GPU ${n + 1}`} onChange={(e) => set(n, e.currentTarget.value)}>
          {n ? <option value="">–</option> : null}<Options start={props.start} mine={props.mine} /></select></label>
      ))}
    </>
  );
}

function groups(examples: api.Start["examples"]): [string, api.Start["examples"]][] {
  const found = new Map<string, api.Start["examples"]>();
  for (const one of examples) found.set(one.group, [...(found.get(one.group) ?? []), one]);
  return [...found];
}
