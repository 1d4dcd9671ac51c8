import { useState } from "preact/hooks";
import { Contents, FormSections, Verdict, formContents } from "./report";
import { ProgramPage } from "./program";
import { Diff } from "../parts/diff";
import { Interval, gainScale } from "../parts/interval";
import { Block, Sentences, Wide } from "../parts/common";
import { bytes, chance, gain, speed, time } from "../format";
import type { Page } from "../types";

interface Tried { layout: string; kind: string; proven: boolean; detail: string; milliseconds: number | null; ratio: number | null; ratio_range: [number, number] | null; faster: number | null }
interface Conversion { bytes: number; milliseconds: number | null; launches: number | null }

/** The page of `placewise layout`. */
export function Layouts({ page }: { page: Page }) {
  return page.document.schema === "placewise-program-layout" ? <ProgramPage page={page} /> : <OfOneLaunch page={page} />;
}

function OfOneLaunch({ page }: { page: Page }) {
  const d = page.document;
  const groups: { title: string; says: string; recommended: string | null; options: Tried[]; present: number | null; conversion: Conversion | null }[] = [
    ...d.structs.map((s: any) => ({ title: `struct ${s.struct}`, says: `Arrays ${s.arrays.join(", ")}; now ${s.present}. ${s.obstacle ?? ""}`, recommended: s.recommended, options: s.options, present: s.present_milliseconds, conversion: s.conversion })),
    ...(d.matrices ? [{ title: "Matrices", says: d.matrices.matrices.map((m: any) => `${m.array}: ${m.rows} × ${m.columns}`).join(", "), recommended: d.matrices.recommended, options: d.matrices.options, present: d.matrices.present_milliseconds, conversion: d.matrices.conversion }] : []),
  ];
  const [change, setChange] = useState(0);
  return (
    <>
      <Verdict says={page.verdict} facts={[["Now", time(groups[0]?.present)], ["Machine", d.machine]]} />
      <Contents of={[["layouts", "Layouts"], ...formContents(page), ...(page.changes.length ? [["diff", "Rewrite"] as [string, string]] : []), ["notes", "Notes"]]} />
      <Block id="layouts" title="Layouts">
        {groups.length ? null : <p>The kernel has no arrays of structs and none that it indexes as matrices.</p>}
        {groups.map((g) => {
          const scale = gainScale(g.options.flatMap((o) => (o.ratio_range ? [o.ratio_range] : [])));
          return (
            <>
              <h3>{g.title}</h3><p class="quiet">{g.says}</p>
              <Wide label={g.title}>
                <table>
                  <thead><tr><th scope="col">layout</th><th scope="col">kind</th><th scope="col" class="less">gain</th><th scope="col" class="n">gain</th><th scope="col" class="n">80 % interval</th><th scope="col" class="n">likely faster</th><th scope="col" class="n">time</th><th scope="col">verified</th></tr></thead>
                  <tbody>{g.options.map((o) => (
                    <tr class={o.layout === g.recommended ? "chosen" : ""}>
                      <td class={o.layout === g.recommended ? "best" : ""}><code>{o.layout}</code> {o.layout === g.recommended ? <span class="badge good">recommended</span> : null}</td><td>{o.kind}</td>
                      <td class="less">{o.ratio && o.ratio_range ? <Interval ratio={o.ratio} low={o.ratio_range[0]} high={o.ratio_range[1]} scale={scale} /> : null}</td>
                      <td class="n">{o.ratio ? gain(o.ratio) : ""}</td><td class="n">{o.ratio_range ? `${speed(1 / o.ratio_range[1])}–${speed(1 / o.ratio_range[0])}` : ""}</td>
                      <td class="n">{chance(o.faster)}</td><td class="n">{time(o.milliseconds)}</td><td>{o.proven ? <span class="good">same bits</span> : o.detail}</td></tr>))}
                  </tbody>
                </table>
              </Wide>
              {g.conversion ? <p>The conversion there and back moves {bytes(g.conversion.bytes)}{g.conversion.milliseconds ? ` in ${time(g.conversion.milliseconds)}` : ""}{g.conversion.launches ? `; it pays after ${g.conversion.launches} launches` : ""}.</p> : null}
            </>
          );
        })}
      </Block>
      <FormSections page={page} />
      {page.changes.length ? (
        <Block id="diff" title="Rewrite">
          <div class="controls no-print"><label>Layout
            <select value={change} onChange={(e) => setChange(Number(e.currentTarget.value))}>
              {page.changes.map((c, n) => <option value={n}>{c.title}</option>)}
            </select></label></div>
          <Diff lines={page.changes[change].lines} label="Changes of the source" />
        </Block>
      ) : null}
      <Block id="notes" title="Notes"><Sentences of={d.notes} /></Block>
    </>
  );
}
