import { busy } from "./common";
import { bytes, count, percent } from "../format";
import type { ChartLink, ChartUnit, MemoryChart } from "../types";

const WIDTH = 520;
const ROWS: Record<string, [number, number]> = {
  kernel: [4, 46], space: [122, 46], cache: [254, 56], l2: [390, 56], dram: [526, 46],
};
const HEIGHT = 578;
const SPACES = ["global", "local", "texture", "shared", "constant"];
const CACHE_OF: Record<string, string> = {
  global: "l1", local: "l1", texture: "l1", shared: "shared_memory", constant: "constant_cache",
};
const NAMES: Record<string, string> = {
  kernel: "Kernel", global: "Global", local: "Local", texture: "Texture", shared: "Shared",
  constant: "Constant", l1: "L1", shared_memory: "Shared memory",
  constant_cache: "Constant cache", l2: "L2", dram: "DRAM",
};

interface Box { unit: ChartUnit; x: number; y: number; width: number; height: number }

/** The memory chart of one form: from the kernel's instructions down to DRAM. */
export function MemoryChartView(props: { chart: MemoryChart; title: string }) {
  const boxes = placed(props.chart.units);
  const words = props.chart.links.map((l) => `${NAMES[l.source]} to ${NAMES[l.target]}: ${amount(l)}${
    l.peak_share === null ? "" : `, ${percent(l.peak_share)} of peak`}`).join("; ");
  return (
    <figure>
      <figcaption>{props.title}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} role="img" aria-label={words}>
        {props.chart.links.map((link) => <Arrow link={link} all={props.chart.links} boxes={boxes} />)}
        {[...boxes.values()].map((box) => <UnitBox box={box} />)}
      </svg>
    </figure>
  );
}

function placed(units: ChartUnit[]): Map<string, Box> {
  const of = new Map(units.map((unit) => [unit.id, unit]));
  const spaces = SPACES.filter((name) => of.has(name));
  const column = WIDTH / Math.max(1, spaces.length);
  const boxes = new Map<string, Box>();
  const put = (id: string, row: string, x: number, width: number) => {
    const unit = of.get(id);
    if (unit) boxes.set(id, { unit, x: x + 4, width: width - 8, y: ROWS[row][0], height: ROWS[row][1] });
  };
  put("kernel", "kernel", 0, WIDTH);
  spaces.forEach((name, n) => put(name, "space", n * column, column));
  for (const cache of ["l1", "shared_memory", "constant_cache"]) {
    const above = spaces.map((name, n) => ({ name, n })).filter((s) => CACHE_OF[s.name] === cache);
    if (above.length) put(cache, "cache", above[0].n * column, above.length * column);
  }
  put("l2", "l2", 0, WIDTH);
  put("dram", "dram", 0, WIDTH);
  return boxes;
}

function UnitBox({ box }: { box: Box }) {
  const { unit, x, y, width, height } = box;
  const middle = x + width / 2;
  const size = unit.size_bytes ? ` ${bytes(unit.size_bytes)}` : "";
  const below = unit.hit_share !== null
    ? `${percent(unit.hit_share)} of loads hit`
    : `${count(unit.amount)} ${unit.unit}`;
  return (
    <g>
      <rect x={x} y={y} width={width} height={height} rx="6" fill="var(--panel)" stroke="var(--line)" />
      <text x={middle} y={y + height / 2 - 3} text-anchor="middle" font-weight="600">
        {NAMES[unit.id] ?? unit.id}{width > 150 ? size : ""}
      </text>
      <text x={middle} y={y + height / 2 + 13} text-anchor="middle" class="quiet">{below}</text>
    </g>
  );
}

function amount(link: ChartLink): string {
  return link.unit === "bytes" ? bytes(link.amount) : `${count(link.amount)} ${link.unit}`;
}

/** An arrow between two boxes; reads go up and stand left of writes, which go down. */
function Arrow(props: { link: ChartLink; all: ChartLink[]; boxes: Map<string, Box> }) {
  const { link, boxes } = props;
  const [from, to] = [boxes.get(link.source), boxes.get(link.target)];
  if (!from || !to) return null;
  const [upper, lower] = from.y < to.y ? [from, to] : [to, from];
  const pair = props.all.filter((other) =>
    (other.source === link.source && other.target === link.target) ||
    (other.source === link.target && other.target === link.source));
  const narrow = Math.min(upper.width, lower.width);
  const centre = upper.width <= lower.width ? upper.x + upper.width / 2 : lower.x + lower.width / 2;
  const shift = pair.length > 1 || link.kind !== "request" ? Math.min(13, narrow / 8) : 0;
  const isRead = link.kind === "read";
  const x = centre + (isRead ? -shift : shift);
  const [top, bottom] = [upper.y + upper.height + 3, lower.y - 3];
  const up = isRead;
  const head = up ? top : bottom;
  const step = up ? 8 : -8;
  const colour = busy(link.peak_share);
  const side = isRead ? -9 : 9;
  const anchor = isRead ? "end" : "start";
  const middle = (top + bottom) / 2;
  return (
    <g>
      <line x1={x} x2={x} y1={top + (up ? 6 : 0)} y2={bottom - (up ? 0 : 6)} stroke={colour} stroke-width="5" />
      <path d={`M${x} ${head} l-7 ${step} h14 z`} fill={colour} />
      {link.kind !== "request" || pair.length === 1 ? (
        <>
          <text x={x + side} y={middle - 1} text-anchor={anchor}>{amount(link)}</text>
          <text x={x + side} y={middle + 14} text-anchor={anchor} class="quiet">
            {link.kind === "request" ? "" : `${link.kind} `}
            {link.peak_share === null ? "" : `${percent(link.peak_share)}${narrow > 300 ? " of peak" : ""}`}
          </text>
        </>
      ) : null}
    </g>
  );
}
