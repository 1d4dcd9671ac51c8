import { Contents, FormSections, Verdict, formContents } from "./report";
import { Block, Sentences, Wide } from "../parts/common";
import { base, count, time } from "../format";
import type { Page } from "../types";

const at = (p: any) => (p ? `${base(p.file)}:${p.line ?? "?"} (${p.instruction})` : "");
const who = (t: any) => (t ? `thread (${t.thread.join(", ")}) of block (${t.block.join(", ")})` : "");

/** The page of `placewise run`: what the checker found, and the arrays after the run. */
export function Run({ page }: { page: Page }) {
  const d = page.document;
  const findings = (d.check?.findings ?? []) as any[];
  const form = page.forms[0];
  const text = (p: any) => (p?.line && form && base(p.file) === form.file ? form.source.split("\n")[p.line - 1]?.trim() : "");
  return (
    <>
      <Verdict says={page.verdict} facts={[
        ["Warp instructions", count(d.warp_instructions)], ["Thread instructions", count(d.thread_instructions)],
        ["Run on the CPU", time(d.seconds * 1000), d.arch],
      ]} />
      <Contents of={[...(d.check ? [["findings", "Findings"] as [string, string]] : []), ["arrays", "Arrays"], ...formContents(page), ["notes", "Notes"]]} />
      {d.check ? (
        <Block id="findings" title="Findings">
          {findings.length ? findings.map((f) => (
            <div class={`finding ${f.severity}`}>
              <div><span class={`badge ${f.severity === "note" ? "quiet" : "bad"}`}>{f.severity}</span> <b>{f.kind}</b>, {at(f.place)}{f.array ? <>, <code>{f.array}{f.index ? `[${f.index.join("][")}]` : ""}</code></> : null}</div>
              {text(f.place) ? <div class="mono">{text(f.place)}</div> : null}
              <p>{f.message}</p>
              <p class="quiet">{who(f.thread)}{f.other_place ? `; the other: ${at(f.other_place)}, ${who(f.other_thread)}` : ""}; {count(f.count)} times.{f.hint ? ` ${f.hint}` : ""}</p>
            </div>
          )) : <p class="good">No races, no accesses out of bounds, nothing read before it was written.</p>}
          <Sentences of={d.check.not_checked} />
        </Block>
      ) : null}
      <Block id="arrays" title="Arrays after the run">
        <Wide label="Arrays after the run"><table>
          <thead><tr><th scope="col">array</th><th scope="col">type</th><th scope="col">shape</th><th scope="col">written</th><th scope="col" class="n">least</th><th scope="col" class="n">most</th><th scope="col" class="n">not a number</th></tr></thead>
          <tbody>{d.arrays.map((a: any) => <tr><td><code>{a.name}</code></td><td>{a.dtype}</td><td>{a.shape.join(" × ")}</td><td>{a.written ? "yes" : "no"}</td><td class="n">{String(a.least ?? "–")}</td><td class="n">{String(a.most ?? "–")}</td><td class="n">{a.nans}</td></tr>)}</tbody>
        </table></Wide>
        {d.printed.text ? <><h3>Printed by the kernel</h3><pre class="wide mono" tabIndex={0}>{d.printed.text}</pre></> : null}
      </Block>
      <FormSections page={page} />
      <Block id="notes" title="Notes"><Sentences of={d.notes} /></Block>
    </>
  );
}
