import { Contents, FormSections, Verdict, formContents } from "./report";
import { Block, Sentences, Wide } from "../parts/common";
import { percent } from "../format";
import type { Page } from "../types";

interface Counter { value: number; standard_error: number; upper_bound: boolean }

/** The page of `placewise counters`: all counters, beside measured ones or those of moved arrays. */
export function Counters({ page }: { page: Page }) {
  const d = page.document;
  const counters = Object.entries(d.counters as Record<string, Counter>);
  const before = d.counters_as_it_is as Record<string, Counter> | null;
  const measured = d.measured as Record<string, number> | null;
  return (
    <>
      <Verdict says={page.verdict} facts={[
        ["Machine", d.machine.name, d.machine.title],
        ["Executed", d.executed, `for ${d.arch}`],
        ["Warps per SM", String(d.occupancy.warps_per_sm), `${d.occupancy.blocks_per_sm} blocks`],
        ["Blocks simulated", percent(d.traced_share_of_blocks)],
      ]} />
      <Contents of={[...formContents(page), ["counters", "Counters"], ["notes", "Notes"]]} />
      <FormSections page={page} />
      <Block id="counters" title="Counters" says="Under the names of Nsight Compute.">
        <Wide label="Counters">
          <table>
            <thead><tr><th scope="col">counter</th>{before ? <th scope="col" class="n">as it is</th> : null}<th scope="col" class="n">{before ? "moved" : "predicted"}</th>{measured ? <><th scope="col" class="n">measured</th><th scope="col" class="n">error</th></> : null}</tr></thead>
            <tbody>{counters.map(([name, c]) => {
              const truth = measured?.[name];
              return (
                <tr><td><code>{name}</code></td>{before ? <td class="n">{before[name] ? amount(before[name]) : "–"}</td> : null}<td class="n">{amount(c)}</td>
                  {measured ? <><td class="n">{truth === undefined ? "" : number(truth)}</td><td class="n">{truth ? error(c, truth) : ""}</td></> : null}</tr>
              );
            })}</tbody>
          </table>
        </Wide>
      </Block>
      <Block id="notes" title="Notes"><Sentences of={[...d.measured_with.map((w: string) => `recorded with ${w}`), ...d.notes]} /></Block>
    </>
  );
}

function number(value: number): string {
  return Math.abs(value) >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString("en") : value.toPrecision(4);
}

function amount(c: Counter): string {
  if (c.upper_bound) return `≤ ${number(c.value)}`;
  return c.standard_error > 1e-6 * Math.max(1, Math.abs(c.value)) ? `${number(c.value)} ± ${number(c.standard_error)}` : number(c.value);
}

function error(c: Counter, truth: number): string {
  if (c.upper_bound) return truth <= c.value ? "holds" : "exceeded";
  const share = 100 * (c.value / truth - 1);
  return `${share >= 0 ? "+" : "−"}${Math.abs(share).toFixed(2)} %`;
}
