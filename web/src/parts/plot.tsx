import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { bytes, digits } from "../format";
import type { Curve } from "../types";

const KB = ", KB";

/** A colour of the style sheet as a canvas understands it, in the present theme. */
export function resolved(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const found = getComputedStyle(element).color;
  element.style.color = "";
  return found;
}

/** One curve, or those of two forms, over a logarithmic axis, with marks. */
export function Plot({ curves }: { curves: Curve[] }) {
  const host = useRef<HTMLDivElement>(null);
  const [curve] = curves;
  const several = curves.length > 1;
  const sized = curve.x_label.endsWith(KB);
  const tick = (n: number | null) => (n === null ? "" : sized ? bytes(n * 1024) : digits(n));
  const marks = new Map(curves.flatMap((c) => c.marks.map(([at, words]) => [words, at] as const)));
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    let plot: uPlot | null = null;
    const draw = () => {
      plot?.destroy();
      const colour = (name: string) => resolved(element, name);
      const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
      const line = { width: 2, spanGaps: true, points: { show: true, size: 5 } };
      plot = new uPlot({
        width: element.clientWidth, height: 280, legend: { show: false }, cursor: { drag: { x: false, y: false } },
        scales: { x: { time: false, distr: 3, log: 2 }, y: { range: (_u, _min, max) => [0, (max || 1) * 1.18] } },
        axes: [{ ...axis, label: sized ? curve.x_label.slice(0, -KB.length) : curve.x_label, space: 64, values: (_u, v) => v.map(tick) }, { ...axis, label: curve.y_label }],
        series: [{}, ...curves.map((_, n) => ({ ...line, stroke: colour(several && n === 0 ? "--now" : "--then") }))],
        hooks: { draw: [(u) => {
          u.ctx.save();
          u.ctx.strokeStyle = u.ctx.fillStyle = colour("--heat");
          u.ctx.font = `${11 * devicePixelRatio}px sans-serif`;
          let row = 1;
          for (const [words, at] of marks) {
            const x = u.valToPos(at, "x", true);
            u.ctx.beginPath();
            u.ctx.moveTo(x, u.bbox.top);
            u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
            u.ctx.stroke();
            u.ctx.textAlign = "right";
            u.ctx.fillText(words, x - 4, u.bbox.top + 14 * row * devicePixelRatio);
            if (several) row += 1;
          }
          u.ctx.restore();
        }] },
      }, uPlot.join(curves.map((c) => [c.x, c.y])), element);
    };
    draw();
    const again = new ResizeObserver(draw);
    again.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    document.addEventListener("placewise-theme", draw);
    return () => {
      again.disconnect();
      scheme.removeEventListener("change", draw);
      document.removeEventListener("placewise-theme", draw);
      plot?.destroy();
    };
  }, [curves]);
  return <figure><figcaption>{curve.title}</figcaption><div ref={host} class="plot" role="img" aria-label={`${curve.title}, ${curve.y_label} over ${curve.x_label}. ${[...marks.keys()].join("; ")}`} /></figure>;
}
