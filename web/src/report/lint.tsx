import { Contents, FormSections, Verdict, formContents } from "./report";
import { Block } from "../parts/common";
import { base, digits, percent } from "../format";
import type { Page } from "../types";

interface Remark { rule: string; level: string; message: string; file: string | null; line: number | null; array: string | null; times_what_would_do: number | null; share: number; share_of_time_saved: number | null; known: boolean }

/** The page of `placewise lint`. */
export function Lint({ page }: { page: Page }) {
  const remarks = page.document.remarks as Remark[];
  const text = (r: Remark) => {
    const form = page.forms[0];
    return r.line !== null && r.file && form && base(r.file) === form.file ? form.source.split("\n")[r.line - 1]?.trim() : "";
  };
  return (
    <>
      <Verdict says={page.verdict} facts={[
        ["Warnings", String(remarks.filter((r) => r.level === "warning").length)],
        ["Notes", String(remarks.filter((r) => r.level !== "warning").length)],
        ["Machine", page.document.machine],
      ]} />
      <Contents of={[["remarks", "Remarks"], ...formContents(page)]} />
      <Block id="remarks" title="Remarks" says="The one that could save most first.">
        {remarks.length ? remarks.map((r) => (
          <div class={`finding ${r.level}`}>
            <div><span class={`badge ${r.level === "warning" ? "bad" : "quiet"}`}>{r.level}</span> <b>{r.rule}</b>{r.line === null ? "" : `, ${r.file ? base(r.file) : ""}:${r.line}`}</div>
            {text(r) ? <div class="mono">{text(r)}</div> : null}
            <p>{r.message}</p>
            <p class="quiet">{r.times_what_would_do === null ? "" : `${digits(r.times_what_would_do)} times what would do; `}{percent(r.share)} of the launch's total.{r.share_of_time_saved === null ? "" : ` Mending it saves at most ${percent(r.share_of_time_saved)} of the predicted time.`}{r.known ? " Known: the baseline has it." : ""}</p>
          </div>
        )) : <p>Nothing wastes bandwidth here.</p>}
      </Block>
      <FormSections page={page} />
    </>
  );
}
