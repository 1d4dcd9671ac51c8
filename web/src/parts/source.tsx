import { useMemo, useState } from "preact/hooks";
import { Code, type LineAmount } from "./code";
import { reasons, stallsByLine, waitsFor } from "./warps";
import { base, count, digits, percent } from "../format";
import type { CodeLine, LineHeat, PageForm, WarpTimeline } from "../types";

/** A source line with the cycles that warps waited there, and why. */
interface Line extends LineHeat { stalls: number; why: string }
/** ``ratio``: an amount for each access; ``share``: of the sum of all lines; ``portion``: a share by itself. */
interface Measure { name: string; of: (line: Line) => number; ratio?: boolean; share?: boolean; portion?: boolean }

/** What the colours beside the source can show. Ratios take their heat from what lies above the
 * least that the accesses need. */
const STALLS = "stalls";
const MEASURES: Record<string, Measure> = {
  excess: { name: "sectors more than needed", of: (l) => Math.max(0, l.sectors - l.least_sectors) },
  per: { name: "sectors per request", of: (l) => (l.cached_requests ? l.sectors / l.cached_requests : 0), ratio: true },
  sectors: { name: "sectors", of: (l) => l.sectors },
  conflicts: { name: "bank conflicts", of: (l) => Math.max(0, l.wavefronts - l.least_wavefronts) },
  l2: { name: "sectors asked of L2", of: (l) => l.l2_sectors },
  dram: { name: "sectors from DRAM", of: (l) => l.dram_sectors },
  requests: { name: "warp accesses", of: (l) => l.requests },
  instructions: { name: "warp instructions", of: (l) => l.instructions },
  saving: { name: "time that mending it could save", of: (l) => l.saving, portion: true },
  [STALLS]: { name: "share of all waits", of: (l) => l.stalls, share: true },
};

/** Source, PTX and machine code side by side, with heat; the line chosen in one is marked in all. */
export function SourceView(props: { forms: PageForm[]; line: number | null; onLine: (line: number | null) => void }) {
  const [shown, setShown] = useState(0);
  const [ptx, setPtx] = useState(false);
  const [sass, setSass] = useState(true);
  const form = props.forms[Math.min(shown, props.forms.length - 1)];
  const own = useMemo(() => linesOf(form), [form]);
  const known = Object.entries(MEASURES).filter(([, m]) => own.some((l) => m.of(l) > 0));
  const [asked, setAsked] = useState("per");
  const measure = known.some(([key]) => key === asked) ? asked : (known[0]?.[0] ?? "");
  const amounts = useMemo(() => amountsOf(own, MEASURES[measure]), [form, measure]);
  const chosen = measure === STALLS ? own.find((l) => l.line === props.line) : undefined;
  const told = chosen?.why ? `Line ${chosen.line} waits for ${chosen.why}.` : "";
  const panes = 1 + (ptx && form.ptx.length ? 1 : 0) + (sass && form.sass.length ? 1 : 0);
  return (
    <div>
      <div class="controls no-print">
        {props.forms.length > 1 ? (
          <label>Form
            <select value={shown} onChange={(e) => { setShown(Number(e.currentTarget.value)); props.onLine(null); }}>
              {props.forms.map((f, n) => <option value={n}>{f.title}</option>)}
            </select>
          </label>
        ) : null}
        {known.length ? (
          <label>Beside each line
            <select value={measure} onChange={(e) => setAsked(e.currentTarget.value)}>
              {known.map(([key, m]) => <option value={key}>{m.name}</option>)}
            </select>
          </label>
        ) : null}
        {form.ptx.length ? <label><input type="checkbox" checked={ptx} onChange={(e) => setPtx(e.currentTarget.checked)} />PTX</label> : null}
        {form.sass.length ? <label><input type="checkbox" checked={sass} onChange={(e) => setSass(e.currentTarget.checked)} />Machine code</label> : null}
      </div>
      <div class={`panes ${["", "", "two", "three"][panes]}`}>
        {form.source ? (
          <div class="pane">
            <h3>{form.file}{measure ? <span class="quiet">, {MEASURES[measure].name}</span> : null}</h3>
            <Code key={`${shown}-source`} text={form.source} label={`Source of ${form.file}`} language={form.language}
              amounts={amounts} linked={props.line === null ? [] : [props.line]} onLine={props.onLine} />
            {told ? <p class="quiet pane-foot">{told}</p> : null}
          </div>
        ) : null}
        {ptx && form.ptx.length ? <Listing key={`${shown}-ptx`} name="PTX" lines={form.ptx} form={form} line={props.line} onLine={props.onLine} /> : null}
        {sass && form.sass.length ? <Listing key={`${shown}-sass`} name="Machine code" lines={form.sass} form={form} stalls={measure === STALLS} line={props.line} onLine={props.onLine} /> : null}
      </div>
    </div>
  );
}

/** What is known of a form's source lines: their accesses, and how long warps waited there. */
function linesOf(form: PageForm): Line[] {
  const found = new Map<number, Line>();
  for (const l of form.lines) if (base(l.file) === form.file) found.set(l.line, { ...l, stalls: 0, why: "" });
  for (const s of stallsByLine(form)) {
    const known = found.get(s.line) ?? { ...NOTHING, file: form.file, line: s.line };
    const from = waitsFor(s);
    found.set(s.line, { ...known, stalls: s.cycles, why: reasons(s.waits, form.timeline!.states) + (from ? `; ${from}` : "") });
  }
  return [...found.values()];
}

const NOTHING: Line = {
  file: "", line: 0, instructions: 0, requests: 0, cached_requests: 0, sectors: 0, least_sectors: 0, wavefronts: 0,
  least_wavefronts: 0, l2_sectors: 0, dram_sectors: 0, saving: 0, stalls: 0, why: "",
};

function amountsOf(lines: Line[], measure: Measure | undefined): Map<number, LineAmount> {
  if (!measure) return new Map();
  const values = lines.map((l) => [l.line, measure.of(l)] as const).filter(([, v]) => v > 0);
  const most = Math.max(...values.map(([, v]) => v), 0);
  const total = values.reduce((sum, [, v]) => sum + v, 0);
  return new Map(values.map(([line, value]) => [line, {
    text: measure.portion ? percent(value) : measure.share ? percent(value / total) : measure.ratio ? digits(value) : count(value),
    share: measure.portion ? value / most : measure.ratio ? Math.max(0, value - 1) / Math.max(31, most - 1) : value / total,
  }]));
}

/** Waits before each instruction of the machine code. */
function stallAmounts(lines: CodeLine[], timeline: WarpTimeline): Map<number, LineAmount> {
  const waits = new Map(timeline.stalls.map((s) => [s.place, s.waits.reduce((sum, cycles) => sum + cycles, 0)]));
  const total = [...waits.values()].reduce((sum, cycles) => sum + cycles, 0);
  return new Map(lines.flatMap((l, n) => {
    const share = (waits.get(l.place) ?? 0) / total;
    return share > 0 ? [[n + 1, { text: percent(share), share }] as const] : [];
  }));
}

function Listing(props: { name: string; lines: CodeLine[]; form: PageForm; stalls?: boolean; line: number | null; onLine: (line: number | null) => void }) {
  const { lines, form } = props;
  const text = useMemo(() => lines.map((l) => l.text).join("\n"), [lines]);
  const stalls = props.stalls ? form.timeline : null;
  const amounts = useMemo(() => {
    if (stalls) return stallAmounts(lines, stalls);
    const all = lines.map((l) => l.executions ?? 0).sort((a, b) => a - b);
    const [usual, most] = [all[all.length >> 1], all[all.length - 1]];
    return new Map(lines.map((l, n) => [n + 1, {
      text: l.executions === null ? "" : count(l.executions),
      share: most > usual ? (0.2 * ((l.executions ?? 0) - usual)) / (most - usual) : 0,
    }]));
  }, [lines, stalls]);
  const isOwn = (l: CodeLine) => l.file !== null && base(l.file) === form.file;
  const linked = useMemo(
    () => (props.line === null ? [] : lines.flatMap((l, n) => (l.line === props.line && isOwn(l) ? [n + 1] : []))),
    [lines, props.line],
  );
  const counted = stalls !== null || lines.some((l) => l.executions !== null);
  return (
    <div class="pane">
      <h3>{props.name}{counted ? <span class="quiet">, {stalls ? "share of all waits" : "warps that executed it"}</span> : null}</h3>
      <Code text={text} label={`${props.name} of ${form.title}`} amounts={counted ? amounts : undefined}
        numbers={(n) => { const l = lines[n - 1]; return l?.line && isOwn(l) ? String(l.line) : "·"; }}
        linked={linked} onLine={(n) => { const l = lines[n - 1]; if (l?.line && isOwn(l)) props.onLine(l.line); }} />
    </div>
  );
}
