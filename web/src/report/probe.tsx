import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { Verdict } from "./report";
import { Block, Sentences, Wide } from "../parts/common";
import { bytes, digits } from "../format";
import type { Curve, Page } from "../types";

/** The page of `placewise probe`: what was found, and the curves behind it. */
export function Probe({ page }: { page: Page }) {
  const d = page.document;
  return (
    <>
      <Verdict says={page.verdict} facts={[["GPU", d.device.name, `compute capability ${d.device.compute_capability.join(".")}`], ["SMs", String(d.device.sms)], ["DRAM", bytes(d.device.memory_bytes)]]} />
      {page.curves.length ? (
        <Block id="curves" title="Curves"><div class="charts">{page.curves.map((c) => <Plot curve={c} />)}</div></Block>
      ) : null}
      <Block id="paths" title="Caches and TLBs">
        <Wide label="Caches and TLBs"><table>
          <thead><tr><th scope="col">path</th><th scope="col">level</th><th scope="col" class="n">latency, cycles</th><th scope="col" class="n">size</th><th scope="col" class="n">line</th><th scope="col" class="n">sector</th><th scope="col">replacement</th><th scope="col">confidence</th></tr></thead>
          <tbody>{Object.entries(d.paths as Record<string, any>).flatMap(([name, path]) => [
            ...path.caches.map((c: any, n: number) => <Level path={name} name={`cache ${n + 1}`} level={c} />),
            ...path.tlbs.map((c: any, n: number) => <Level path={name} name={`TLB ${n + 1}`} level={c} />),
          ])}</tbody>
        </table></Wide>
      </Block>
      {d.not_found.length ? <Block id="notes" title="Not found"><Sentences of={d.not_found.map((n: any) => `${n.part}: ${n.reason}`)} /></Block> : null}
    </>
  );
}

function Level(props: { path: string; name: string; level: any }) {
  const c = props.level;
  return <tr><td>{props.path}</td><td>{props.name}</td><td class="n">{digits(c.latency_cycles)}</td><td class="n">{c.capacity_bytes ? bytes(c.capacity_bytes) : "–"}</td>
    <td class="n">{c.line_bytes ? bytes(c.line_bytes) : "–"}</td><td class="n">{c.sector_bytes ? bytes(c.sector_bytes) : "–"}</td><td>{c.policy ?? "–"}</td><td>{c.confidence}{c.doubts.length ? `: ${c.doubts.join("; ")}` : ""}</td></tr>;
}

/** A colour of the style sheet as a canvas understands it, in the present theme. */
function resolved(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  return getComputedStyle(element).color;
}

/** A measured curve over a logarithmic axis, with marks. */
export function Plot({ curve }: { curve: Curve }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    let plot: uPlot | null = null;
    const draw = () => {
      plot?.destroy();
      const colour = (name: string) => resolved(element, name);
      const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
      plot = new uPlot({
        width: element.clientWidth, height: 280, legend: { show: false }, cursor: { drag: { x: false, y: false } },
        scales: { x: { time: false, distr: 3, log: 2 }, y: { range: (_u, _min, max) => [0, max * 1.1] } },
        axes: [{ ...axis, label: curve.x_label, values: (_u, v) => v.map((n) => (n === null ? "" : digits(n))) }, { ...axis, label: curve.y_label }],
        series: [{}, { stroke: colour("--then"), width: 2, points: { show: true, size: 5 } }],
        hooks: { draw: [(u) => {
          u.ctx.save();
          u.ctx.strokeStyle = u.ctx.fillStyle = colour("--heat");
          u.ctx.font = `${11 * devicePixelRatio}px sans-serif`;
          for (const [at, words] of curve.marks) {
            const x = u.valToPos(at, "x", true);
            u.ctx.beginPath();
            u.ctx.moveTo(x, u.bbox.top);
            u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
            u.ctx.stroke();
            u.ctx.textAlign = "right";
            u.ctx.fillText(words, x - 4, u.bbox.top + 14 * devicePixelRatio);
          }
          u.ctx.restore();
        }] },
      }, [curve.x, curve.y], element);
    };
    draw();
    const again = new ResizeObserver(draw);
    again.observe(element);
    document.addEventListener("placewise-theme", draw);
    return () => {
      again.disconnect();
      document.removeEventListener("placewise-theme", draw);
      plot?.destroy();
    };
  }, [curve]);
  const words = curve.marks.map(([, text]) => text).join("; ");
  return <figure><figcaption>{curve.title}</figcaption><div ref={host} class="plot" role="img" aria-label={`${curve.title}, ${curve.y_label} over ${curve.x_label}. ${words}`} /></figure>;
}
