import { Contents, FormSections, Verdict, formContents } from "./report";
import { Diff } from "../parts/diff";
import { Interval, gainScale } from "../parts/interval";
import { Block, Sentences, Wide } from "../parts/common";
import { bytes, chance, gain, speed, time } from "../format";
import type { Page } from "../types";

interface Row { words: string; chosen: boolean; ratio: number | null; range: [number, number] | null; faster: number | null; milliseconds: number | null; more: string }
interface Launch { title: string; launches: number; milliseconds: number | null; arrays: Record<string, string> }
interface KernelPlacement { kernel: string; placement: Record<string, string> }

/** The pages of programs: `placewise advise`, `advise --layouts` and `layout` of several launches. */
export function ProgramPage({ page }: { page: Page }) {
  const d = page.document;
  const of = d.schema === "placewise-program-joint" ? d.layouts : d;
  const tables = tablesOf(d);
  const launches: Launch[] = of.launches.map((l: any) => ({
    title: `${l.number} (${l.kernel ?? l.advice.case.kernel})`, launches: l.launches ?? of.rounds * l.times,
    milliseconds: l.present_milliseconds, arrays: l.arrays,
  }));
  const total = d.present_milliseconds as number;
  return (
    <>
      <Verdict says={page.verdict} facts={[["Now", time(total), "all launches"], ["Machine", d.machine], ["Rounds", String(d.rounds)]]} />
      <Contents of={[["launches", "Launches"], ["forms", "Forms"], ...formContents(page), ...(page.changes.length ? [["diff", "Rewrite"] as [string, string]] : []), ["notes", "Notes"]]} />
      <Block id="launches" title="Launches" says="The program as it is.">
        <Wide label="Launches">
          <table>
            <thead><tr><th scope="col">launch</th><th scope="col" class="n">launches</th><th scope="col" class="n">time of one</th><th scope="col" class="n">share</th><th scope="col">arrays</th></tr></thead>
            <tbody>{launches.map((l) => (
              <tr><td>{l.title}</td><td class="n">{l.launches}</td><td class="n">{time(l.milliseconds)}</td>
                <td class="n">{l.milliseconds && total ? `${Math.round((100 * l.launches * l.milliseconds) / total)} %` : ""}</td>
                <td>{Object.entries(l.arrays).map(([p, a]) => (p === a ? a : `${p}: ${a}`)).join(", ")}</td></tr>))}
            </tbody>
          </table>
        </Wide>
      </Block>
      <Block id="forms" title="Forms" says="Predicted for the whole program, copies and conversion counted. The recommended form was run launch after launch and compared bit for bit.">
        {tables.map((t) => <Forms title={t.title} rows={t.rows} />)}
      </Block>
      <FormSections page={page} />
      {page.changes.length ? <Block id="diff" title="Rewrite"><Diff lines={page.changes[0].lines} label="Changes of the source" /></Block> : null}
      <Block id="notes" title="Notes"><Sentences of={of === d ? d.notes : [...d.notes, ...of.notes]} /></Block>
    </>
  );
}

function Forms(props: { title: string; rows: Row[] }) {
  const scale = gainScale(props.rows.flatMap((r) => (r.range ? [r.range] : [])));
  return (
    <>
      {props.title ? <h3>{props.title}</h3> : null}
      <Wide label={props.title || "Forms"}>
        <table>
          <thead><tr><th scope="col">form</th><th scope="col" class="less">gain</th><th scope="col" class="n">gain</th><th scope="col" class="n">80 % interval</th><th scope="col" class="n">likely faster</th><th scope="col" class="n">time</th><th scope="col">remark</th></tr></thead>
          <tbody>{props.rows.map((r) => (
            <tr class={r.chosen ? "chosen" : ""}>
              <td class={r.chosen ? "best" : ""}>{r.words} {r.chosen ? <span class="badge good">recommended</span> : null}</td>
              <td class="less">{r.ratio && r.range ? <Interval ratio={r.ratio} low={r.range[0]} high={r.range[1]} scale={scale} /> : null}</td>
              <td class="n">{r.ratio ? gain(r.ratio) : ""}</td><td class="n">{r.range ? `${speed(1 / r.range[1])}–${speed(1 / r.range[0])}` : ""}</td>
              <td class="n">{chance(r.faster)}</td><td class="n">{time(r.milliseconds)}</td><td>{r.more}</td></tr>))}
          </tbody>
        </table>
      </Wide>
    </>
  );
}

/** Tables of forms of a document: one, or one for each struct type. */
function tablesOf(d: any): { title: string; rows: Row[] }[] {
  if (d.schema === "placewise-program") {
    const best = d.recommended ? placed(d.recommended.kernels) : "";
    return [{ title: "", rows: d.combinations.map((c: any) => row(c, placed(c.kernels) || "as it is", !!best && placed(c.kernels) === best, copies(c.copies))) }];
  }
  if (d.schema === "placewise-program-joint") {
    const words = (f: any) => [f.layout && `${f.layout_kind}: ${f.layout}`, f.placements && placed(f.placements.kernels)].filter(Boolean).join("; ") || "as it is";
    return [{ title: "", rows: d.forms.map((f: any) => row(f, words(f), !!d.recommended && words(f) === words(d.recommended), "")) }];
  }
  return d.structs.map((s: any) => ({
    title: `struct ${s.struct}: ${s.arrays.join(", ")}, now ${s.present}. ${s.obstacle ?? ""}`,
    rows: s.options.map((o: any) => row(o, `${o.kind}: ${o.layout}`, o.layout === s.recommended, o.proven ? (o.conversion ? `conversion ${bytes(o.conversion.bytes)}` : "") : o.detail)),
  }));
}

function row(f: any, words: string, chosen: boolean, more: string): Row {
  return { words, chosen, ratio: f.ratio, range: f.ratio_range, faster: f.faster, milliseconds: f.milliseconds, more };
}

/** What moves in each kernel, as one reads it. */
function placed(kernels: KernelPlacement[]): string {
  return kernels.filter((k) => Object.keys(k.placement).length)
    .map((k) => `${k.kernel}: ${Object.entries(k.placement).map(([a, s]) => `${a} → ${s}`).join(", ")}`).join("; ");
}

function copies(of: { milliseconds: number }[]): string {
  const all = of.reduce((sum, c) => sum + c.milliseconds, 0);
  return all ? `copies ${time(all)}` : "";
}
