import { Keys } from "./common";
import { count, percent, place, time } from "../format";
import type { Part, Prediction } from "../types";

/** Least share of the longest part's cycles at which a part nearly limits the launch. */
const NEARLY = 0.8;
const SHOWN = 10;

/** What each part of the machine alone would take, of one prediction or two side by side. */
export function Limits(props: { now: Prediction; then?: Prediction | null; nowTitle: string; thenTitle?: string; file: string }) {
  const { now, then } = props;
  const parts = new Map<string, { now?: Part; then?: Part }>();
  for (const part of now.parts) parts.set(part.path, { now: part });
  for (const part of then?.parts ?? []) parts.set(part.path, { ...parts.get(part.path), then: part });
  const longest = (p: { now?: Part; then?: Part }) => Math.max(p.now?.cycles ?? 0, p.then?.cycles ?? 0);
  const rows = [...parts].sort((a, b) => longest(b[1]) - longest(a[1])).slice(0, SHOWN);
  const scale = Math.max(now.cycles, then?.cycles ?? 0, ...rows.map(([, p]) => longest(p))) || 1;
  return (
    <div>
      <Keys now={props.nowTitle} then={then ? props.thenTitle : undefined} />
      <div class="bars">
        <div class="what"><b>all together</b></div>
        <div>
          <Bar cycles={now.cycles} of={now} scale={scale} kind="now" />
          {then ? <Bar cycles={then.cycles} of={then} scale={scale} kind="then" /> : null}
        </div>
        {rows.map(([name, p]) => (
          <>
            <div class="what">{name}</div>
            <div>
              <Bar cycles={p.now?.cycles ?? 0} of={now} scale={scale} kind="now" tag={tag(p.now, now)} />
              {then ? <Bar cycles={p.then?.cycles ?? 0} of={then} scale={scale} kind="then" tag={tag(p.then, then)} /> : null}
            </div>
            {p.now?.lines.length ? (
              <div class="where">most of it now at {p.now.lines.slice(0, 3).map((l) => place(l.line, props.file)).join(", ")}</div>
            ) : null}
          </>
        ))}
      </div>
    </div>
  );
}

/** Whether a part limits the launch, or nearly does. */
function tag(part: Part | undefined, of: Prediction): string {
  const longest = of.parts[0]?.cycles ?? 0;
  if (!part || !longest) return "";
  if (part.path === of.binding) return "binds";
  return part.cycles >= NEARLY * longest ? "nearly binds" : "";
}

function Bar(props: { cycles: number; of: Prediction; scale: number; kind: "now" | "then"; tag?: string }) {
  const { cycles, of } = props;
  const amount = of.absolute && of.clock_mhz ? time(cycles / of.clock_mhz / 1e3) : `${count(cycles)} cycles`;
  return (
    <div class="bar">
      <i class={props.kind} style={{ width: `${(68 * cycles) / props.scale}%` }} />
      <span>{amount}{of.cycles ? <span class="quiet"> {percent(cycles / of.cycles)}</span> : null}</span>
      {props.tag ? <span class={`badge ${props.tag === "binds" ? "bad" : "quiet"}`}>{props.tag}</span> : null}
    </div>
  );
}
