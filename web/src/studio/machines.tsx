import { useEffect, useRef, useState } from "preact/hooks";
import { Block, Wide } from "../parts/common";
import * as api from "./api";
import { Editor } from "./editor";

const PAUSE_MS = 350;

/** Edit a machine as text and as a form, import, export, compare. */
export function MachineView(props: { start: api.Start; hidden: boolean; onMine: (text: string | null) => void }) {
  const { start } = props;
  const [view, setView] = useState<api.MachineView | null>(null);
  const [text, setText] = useState("");
  const [failed, setFailed] = useState("");
  const [other, setOther] = useState("A100");
  const [differences, setDifferences] = useState<any[] | null>(null);
  const asked = useRef(0);
  const tell = (error: unknown) => setFailed(error instanceof Error ? error.message : String(error));
  const show = (found: api.MachineView) => {
    setFailed("");
    setText(found.text);
    setView(found);
    props.onMine(found.error ? null : found.text);
  };
  const start_from = (name: string) => api.machine({ name }).then(show).catch(tell);
  useEffect(() => { void start_from("A100"); }, []);
  // The text is checked when the writer pauses; an answer that is overtaken is dropped.
  const typed = (now: string) => {
    if (now === text) return;
    setText(now);
    asked.current += 1;
    const mine = asked.current;
    setTimeout(() => {
      if (mine !== asked.current) return;
      api.machine({ text: now }).then((found) => {
        if (mine !== asked.current) return;
        setView((before) => (found.error && before ? { ...found, figures: before.figures } : found));
        props.onMine(found.error ? null : found.text);
      }).catch(tell);
    }, PAUSE_MS);
  };
  const edit = (figure: api.Figure, value: string) => {
    asked.current += 1;
    api.machine({ text, edit: { part: figure.part, name: figure.name, value } }).then(show).catch(tell);
  };
  const l1 = view?.figures.find((f) => f.part === "L1" && f.name === "size" && typeof f.value === "number");
  const compare = () => api.compare({ text }, { name: other }).then((d) => setDifferences(d.differences)).catch(tell);
  return (
    <div hidden={props.hidden}>
      <Block id="machine" title="Machine" says="Change a figure in the form or in the text; both follow each other. Every figure says where it is from.">
        <div class="controls">
          <label>Start from <select onChange={(e) => start_from(e.currentTarget.value)}>{start.machines.map((m) => <option value={m.name} selected={m.name === "A100"}>{m.name}: {m.title}</option>)}</select></label>
          <label>Import mt4g's JSON <input type="file" accept=".json,application/json" onChange={async (e) => {
            const file = e.currentTarget.files?.[0];
            if (file) api.mt4g(await file.text()).then(show).catch(tell);
          }} /></label>
          <button disabled={!view || view.error !== null} onClick={() => api.download(`${view?.name ?? "machine"}.msl`, text)}>Export</button>
          {l1 ? <button onClick={() => edit(l1, `${2 * (l1.value as number)} B`)}>What if L1 were twice as large?</button> : null}
        </div>
        <div role="status" aria-live="polite">
          {view?.error ? <div class="finding error"><b>line {view.error.line}, column {view.error.column}: {view.error.message}</b>{view.error.hint ? <p class="quiet">{view.error.hint}</p> : null}</div>
            : view ? <p class="good">{view.name}: {view.title}. It can be asked for as “my machine”.</p> : null}
          {failed ? <div class="finding error">{failed}</div> : null}
        </div>
        <div class="panes two">
          <div><Figures figures={view?.figures ?? []} onEdit={edit} /></div>
          <div><Editor text={text} label="Machine file" mistake={view?.error ?? null} onText={typed} /></div>
        </div>
      </Block>
      <Block id="compare" title="Compare">
        <div class="controls">
          <label>with <select value={other} onChange={(e) => setOther(e.currentTarget.value)}>{start.machines.map((m) => <option value={m.name}>{m.name}</option>)}</select></label>
          <button disabled={!view || view.error !== null} onClick={compare}>Show differences</button>
        </div>
        {differences ? (differences.length ? (
          <Wide label="Differences">
            <table>
              <thead><tr><th scope="col">part</th><th scope="col">figure</th><th scope="col">mine</th><th scope="col">{other}</th></tr></thead>
              <tbody>{differences.map((d) => <tr><td>{d.part}</td><td>{d.name}</td><td>{value(d.one)}</td><td>{value(d.other)}</td></tr>)}</tbody>
            </table>
          </Wide>
        ) : <p>No figure differs.</p>) : null}
      </Block>
    </div>
  );
}

function value(figure: api.Figure | null): string {
  return !figure || figure.value === null ? "–" : `${figure.value} ${figure.unit}`.trim();
}

function Figures(props: { figures: api.Figure[]; onEdit: (figure: api.Figure, value: string) => void }) {
  const parts = new Map<string, api.Figure[]>();
  for (const figure of props.figures) parts.set(figure.part, [...(parts.get(figure.part) ?? []), figure]);
  return (
    <div class="figures">
      {[...parts].map(([part, figures]) => (
        <details open={part === "limits" || part === "L1"}>
          <summary>{part}</summary>
          <Wide label={`Figures of ${part}`}>
            <table>
              <thead><tr><th scope="col">figure</th><th scope="col">value</th><th scope="col">from</th></tr></thead>
              <tbody>{figures.map((f) => (
                <tr>
                  <td>{f.name}</td>
                  <td class="short">{f.editable ? (
                    <input type="text" size={14} aria-label={`${part} ${f.name}`} key={`${f.value}`} defaultValue={f.value === null ? "?" : `${f.value} ${f.unit}`.trim()}
                      onChange={(e) => props.onEdit(f, e.currentTarget.value)} />
                  ) : value(f)}</td>
                  <td class="quiet">{f.source ?? ""}</td>
                </tr>))}
              </tbody>
            </table>
          </Wide>
        </details>
      ))}
    </div>
  );
}
