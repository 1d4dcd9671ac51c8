import { Verdict } from "./report";
import { Block, Sentences, Wide } from "../parts/common";
import { Plot } from "../parts/plot";
import { bytes, digits } from "../format";
import type { Page } from "../types";

/** The page of `placewise probe`: what was found, and the curves behind it. */
export function Probe({ page }: { page: Page }) {
  const d = page.document;
  return (
    <>
      <Verdict says={page.verdict} facts={[["GPU", d.device.name, `compute capability ${d.device.compute_capability.join(".")}`], ["SMs", String(d.device.sms)], ["DRAM", bytes(d.device.memory_bytes)]]} />
      {page.curves.length ? (
        <Block id="curves" title="Curves"><div class="charts">{page.curves.map((c) => <Plot curves={[c]} />)}</div></Block>
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
