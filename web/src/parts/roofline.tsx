import { scaleLog } from "d3-scale";
import { Keys } from "./common";
import { count, digits } from "../format";
import type { PageForm, RooflinePoint } from "../types";

const [WIDTH, HEIGHT] = [680, 340];
const MARGIN = { left: 64, right: 14, top: 14, bottom: 42 };

/** Work over traffic, and work over time, beside what the machine can do at most. */
export function Roofline(props: { forms: PageForm[] }) {
  const points = props.forms.flatMap((f) => (f.roofline ? [{ title: f.title, at: f.roofline }] : []));
  const peaks = points[0].at;
  const floating = points.some((p) => p.at.operations > 0);
  const roof = floating ? peaks.peak_operations_per_s : peaks.peak_instructions_per_s;
  if (!roof) return null;
  const work = (p: RooflinePoint) => (floating ? p.operations : p.warp_instructions);
  const rate = (p: RooflinePoint) => work(p) / (p.milliseconds * 1e-3);
  const unit = floating ? "operations" : "warp instructions";
  const marks = points.flatMap((p, n) => (
    [["DRAM", p.at.dram_bytes], ["L2", p.at.l2_bytes]] as [string, number][]
  ).filter(([, b]) => b > 0 && work(p.at) > 0).map(([level, b]) => ({ n, level, x: work(p.at) / b, y: rate(p.at) })));
  if (!marks.length) return null;
  const bands = [
    ...(peaks.peak_dram_bytes_per_s ? [["DRAM", peaks.peak_dram_bytes_per_s]] : []),
    ["L2", peaks.peak_l2_bytes_per_s],
  ] as [string, number][];
  const knees = bands.map(([, b]) => roof / b);
  const x = scaleLog().domain([Math.min(...marks.map((m) => m.x), ...knees) / 4, Math.max(...marks.map((m) => m.x), ...knees) * 4])
    .range([MARGIN.left, WIDTH - MARGIN.right]);
  const y = scaleLog().domain([Math.min(...marks.map((m) => m.y), roof / 100) / 2, roof * 2]).range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  const [x0, x1] = x.domain();
  const decades = (domain: number[]) => {
    const found = [];
    for (let e = Math.ceil(Math.log10(domain[0])); e <= Math.log10(domain[1]); e++) found.push(10 ** e);
    return found;
  };
  return (
    <figure>
      <Keys now={points[0].title} then={points[1]?.title} />
      <div class="wide" tabIndex={0} role="region" aria-label="Roofline">
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} role="img"
          aria-label={marks.map((m) => `${points[m.n].title}, ${m.level}: ${digits(m.x)} ${unit} per byte, ${count(m.y)} per second`).join("; ")}>
          {decades(x.domain()).map((v) => (
            <g><line x1={x(v)} x2={x(v)} y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} stroke="var(--line)" />
              <text x={x(v)} y={HEIGHT - MARGIN.bottom + 16} text-anchor="middle" class="quiet">{digits(v)}</text></g>
          ))}
          {decades(y.domain()).map((v) => (
            <g><line x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={y(v)} y2={y(v)} stroke="var(--line)" />
              <text x={MARGIN.left - 6} y={y(v) + 4} text-anchor="end" class="quiet">{count(v)}</text></g>
          ))}
          <text x={(MARGIN.left + WIDTH) / 2} y={HEIGHT - 8} text-anchor="middle" class="quiet">{unit} per byte</text>
          <text transform={`translate(13 ${HEIGHT / 2}) rotate(-90)`} text-anchor="middle" class="quiet">{unit} per second</text>
          {bands.map(([name, b], n) => {
            const knee = roof / b;
            const from = Math.max(x0, y.domain()[0] / b);
            // Names stand on the outer sides of the two slopes, where nothing crosses them.
            const at = from * (knee / from) ** 0.25;
            const isLast = n === bands.length - 1;
            return (
              <g>
                <polyline fill="none" stroke="var(--ink)" stroke-width="1.5"
                  points={`${x(from)},${y(from * b)} ${x(knee)},${y(roof)} ${x(x1)},${y(roof)}`} />
                <text x={x(at) + (isLast ? 0 : 14)} y={y(at * b) + (isLast ? -12 : 14)} text-anchor={isLast ? "end" : "start"}
                  style="paint-order:stroke;stroke:var(--paper);stroke-width:3px">{name} {count(b)}B/s</text>
              </g>
            );
          })}
          {marks.map((m) => {
            const colour = m.n === 0 ? "var(--now)" : "var(--then)";
            return m.level === "DRAM"
              ? <circle cx={x(m.x)} cy={y(m.y)} r="6" fill={colour} stroke="var(--paper)" />
              : <rect x={x(m.x) - 5} y={y(m.y) - 5} width="10" height="10" fill={colour} stroke="var(--paper)" />;
          })}
        </svg>
      </div>
      <p class="quiet">Circles: bytes of DRAM. Squares: bytes of L2. {floating
        ? "Operations are floating-point; the roof is that of single precision." : "The roof is the rate at which instructions are issued."}</p>
    </figure>
  );
}
