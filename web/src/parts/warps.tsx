import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Wide } from "./common";
import { resolved } from "./plot";
import { base, count, percent } from "../format";
import type { PageForm, StallsAt, WarpTimeline } from "../types";

const STRIP = 34;
const GAP = 6;
const LINES = 8;
const LEAST = 0.01;
const RESULTS = new Set(["data of arrays", "shared memory", "other results"]);

/** The colour of a state, as a property of the style sheet. */
function colour(state: number): string {
  return `--state-${state}`;
}

/** Cycles that all warps waited, by state; the first is that of issuing. */
export function totals(timeline: WarpTimeline): number[] {
  const found = timeline.states.map(() => 0);
  for (const at of timeline.stalls) {
    found[0] += at.issued;
    at.waits.forEach((cycles, n) => { found[n + 1] += cycles; });
  }
  return found;
}

/** Why the warps waited, in words: the largest shares first. */
export function reasons(waits: number[], states: string[], most = 3): string {
  const whole = waits.reduce((sum, cycles) => sum + cycles, 0);
  return waits.map((cycles, n) => [cycles / whole, states[n + 1]] as const)
    .filter(([share]) => share >= 0.05).sort((a, b) => b[0] - a[0]).slice(0, most)
    .map(([share, name]) => `${name} ${percent(share)}`).join(", ");
}

/** Stretches of a row: [state or -1, columns]. */
function stretches(row: string): [number, number][] {
  return [...row.matchAll(/([a-z-])(\d*)/g)].map(([, letter, size]) => [
    letter === "-" ? -1 : letter.charCodeAt(0) - 97, size ? Number(size) : 1,
  ]);
}

/** The warps of one SM over time: a row for each, coloured by what it mostly does, below the share of
 * issue slots that are used. */
function Warps({ timeline, title }: { timeline: WarpTimeline; title: string }) {
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const rows = useMemo(() => timeline.warps.map(stretches), [timeline]);
  const [told, setTold] = useState("");
  const columns = timeline.issue_share.length;
  const high = Math.max(3, Math.min(12, Math.floor(240 / Math.max(1, rows.length))));
  const height = STRIP + GAP + high * rows.length;
  useEffect(() => {
    const [element, picture] = [host.current, canvas.current];
    if (!element || !picture) return;
    const draw = () => {
      const width = element.clientWidth;
      picture.width = width * devicePixelRatio;
      picture.height = height * devicePixelRatio;
      const drawing = picture.getContext("2d");
      if (!drawing) return;
      drawing.scale(devicePixelRatio, devicePixelRatio);
      const known = timeline.states.map((_, n) => resolved(element, colour(n)));
      const each = width / columns;
      drawing.fillStyle = known[0];
      timeline.issue_share.forEach((share, n) => {
        const tall = STRIP * Math.min(1, share);
        drawing.fillRect(n * each, STRIP - tall, each + 0.3, tall);
      });
      rows.forEach((row, n) => {
        let at = 0;
        for (const [state, size] of row) {
          if (state >= 0) {
            drawing.fillStyle = known[state];
            drawing.fillRect(at * each, STRIP + GAP + n * high, size * each + 0.3, high > 4 ? high - 1 : high);
          }
          at += size;
        }
      });
    };
    draw();
    const again = new ResizeObserver(draw);
    again.observe(element);
    document.addEventListener("placewise-theme", draw);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    return () => {
      again.disconnect();
      document.removeEventListener("placewise-theme", draw);
      scheme.removeEventListener("change", draw);
    };
  }, [timeline]);
  const tell = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const column = Math.min(columns - 1, Math.floor(((event.clientX - box.left) / box.width) * columns));
    const row = Math.floor((event.clientY - box.top - STRIP - GAP) / high);
    const cycle = count(Math.round(column * timeline.cycles_per_column));
    if (row < 0 || row >= rows.length) {
      setTold(`cycle ${cycle}: ${percent(timeline.issue_share[column])} of the issue slots used`);
      return;
    }
    let at = 0;
    for (const [state, size] of rows[row]) {
      at += size;
      if (column < at) {
        setTold(`cycle ${cycle}, warp ${row}: ${state < 0 ? "no warp" : timeline.states[state]}`);
        return;
      }
    }
  };
  const sums = totals(timeline);
  const whole = sums.reduce((sum, cycles) => sum + cycles, 0);
  const words = timeline.states.map((name, n) => `${name} ${percent(sums[n] / whole)}`).join(", ");
  return (
    <figure>
      <figcaption>{title}</figcaption>
      <div ref={host}>
        <canvas ref={canvas} role="img" style={`width:100%;height:${height}px;display:block`} onMouseMove={tell} onMouseLeave={() => setTold("")}
          aria-label={`${rows.length} warps of one SM over ${count(timeline.cycles)} cycles. ${words}`} />
      </div>
      <div class="axis quiet"><span>0</span><span class="no-print">{told}</span><span>{count(timeline.cycles)} cycles</span></div>
      <div>{timeline.states.map((name, n) => (sums[n] / whole >= 0.005
        ? <span class="key"><i style={`background:var(${colour(n)})`} />{name} {percent(sums[n] / whole)}</span> : null))}</div>
      <p class="quiet">{timeline.blocks === 1 ? "One block" : `${timeline.blocks} blocks`} of {timeline.warps_per_block} warps{timeline.is_complete ? "" : ", the beginning"}. The strip above the warps is the share of issue slots that are used.</p>
    </figure>
  );
}

export interface LineStalls { line: number; cycles: number; waits: number[]; from: Map<number, number> }

/** Stalls of a form's own source lines, the most first. */
export function stallsByLine(form: PageForm): LineStalls[] {
  const found = new Map<number, LineStalls>();
  for (const at of form.timeline?.stalls ?? []) {
    if (at.line === null || at.file === null || base(at.file) !== form.file) continue;
    const own = found.get(at.line) ?? { line: at.line, cycles: 0, waits: at.waits.map(() => 0), from: new Map() };
    found.set(at.line, own);
    at.waits.forEach((cycles, n) => { own.waits[n] += cycles; own.cycles += cycles; });
    const source = at.waits_for;
    if (source?.line && source.file && base(source.file) === form.file) {
      own.from.set(source.line, (own.from.get(source.line) ?? 0) + results(at, form.timeline!.states));
    }
  }
  return [...found.values()].sort((a, b) => b.cycles - a.cycles);
}

/** Cycles that were waited for results. */
function results(at: StallsAt, states: string[]): number {
  return at.waits.reduce((sum, cycles, n) => sum + (RESULTS.has(states[n + 1]) ? cycles : 0), 0);
}

/** The other line whose result is waited for longest, in words; "" where results matter little. */
export function waitsFor(stalls: LineStalls): string {
  const results = [...stalls.from.values()].reduce((sum, cycles) => sum + cycles, 0);
  if (results < 0.3 * stalls.cycles) return "";
  const [most] = [...stalls.from].sort((a, b) => b[1] - a[1]);
  return most === undefined || most[0] === stalls.line ? "" : `mostly the result of line ${most[0]}`;
}

function Lines({ form, onLine }: { form: PageForm; onLine: (line: number) => void }) {
  const timeline = form.timeline!;
  const whole = totals(timeline).slice(1).reduce((sum, cycles) => sum + cycles, 0);
  const own = useMemo(() => stallsByLine(form).filter((l) => l.cycles >= LEAST * whole), [form]);
  const text = useMemo(() => form.source.split("\n"), [form]);
  if (!own.length || !whole) return null;
  return (
    <Wide label={`Waits by line, ${form.title}`}>
      <table>
        <caption class="quiet">Where they wait: {form.title}</caption>
        <thead><tr><th scope="col" class="n">line</th><th scope="col">source</th><th scope="col" class="n">of all waits</th><th scope="col" class="less">shares</th><th scope="col">for</th></tr></thead>
        <tbody>{own.slice(0, LINES).map((l) => (
          <tr>
            <td class="n"><a href="#source" onClick={() => onLine(l.line)}>{l.line}</a></td>
            <td class="code" title={text[l.line - 1]?.trim()}><code>{text[l.line - 1]?.trim()}</code></td>
            <td class="n">{percent(l.cycles / whole)}</td>
            <td class="less"><Stack waits={l.waits} states={timeline.states} share={l.cycles / own[0].cycles} /></td>
            <td>{reasons(l.waits, timeline.states, 2)}{waitsFor(l) ? <span class="quiet">; {waitsFor(l)}</span> : null}</td>
          </tr>))}
        </tbody>
      </table>
    </Wide>
  );
}

function Stack(props: { waits: number[]; states: string[]; share: number }) {
  const whole = props.waits.reduce((sum, cycles) => sum + cycles, 0);
  return (
    <div class="stack" role="img" aria-label={reasons(props.waits, props.states, 9)} style={`width:${(10 * props.share).toFixed(2)}rem`}>
      {props.waits.map((cycles, n) => (cycles > 0
        ? <i title={`${props.states[n + 1]} ${percent(cycles / whole)}`} style={`width:${(100 * cycles) / whole}%;background:var(${colour(n + 1)})`} /> : null))}
    </div>
  );
}

/** The warps of the page's forms over time, and the lines that they wait at. */
export function WarpView(props: { forms: PageForm[]; onLine: (line: number) => void }) {
  return (
    <>
      <div class="charts">{props.forms.map((f) => <Warps timeline={f.timeline!} title={f.title} />)}</div>
      {props.forms.map((f) => <Lines form={f} onLine={props.onLine} />)}
    </>
  );
}
