import { useState } from "preact/hooks";
import { Contents, FormSections, Verdict, formContents } from "./report";
import { Limits } from "../parts/limits";
import { Block, Sentences, Wide } from "../parts/common";
import { percent, time } from "../format";
import type { Page, Prediction } from "../types";

interface Time {
  case: string; machine: string; milliseconds: number; range_ms: [number, number]; measured_ms: number | null;
  limited_by: string; nearly_limited_by: string[]; registers: number | null; warps_per_sm: number; prediction: Prediction;
}

/** The page of `placewise time`. */
export function Times({ page }: { page: Page }) {
  const times = page.document.times as Time[];
  const [chosen, setChosen] = useState(0);
  const one = times[chosen];
  const most = Math.max(...times.map((t) => Math.max(t.range_ms[1], t.measured_ms ?? 0)));
  const refused = page.document.refused as { machine: string; why: string }[];
  return (
    <>
      <Verdict says={page.verdict} facts={[
        ["Machine", one.machine],
        ["Predicted", time(one.milliseconds), `${time(one.range_ms[0])} to ${time(one.range_ms[1])}`],
        ...(one.measured_ms === null ? [] : [["Measured", time(one.measured_ms), error(one)] as [string, string, string]]),
        ["Limited by", one.limited_by, one.nearly_limited_by.length ? `nearly by ${one.nearly_limited_by.join(", ")}` : ""],
        ["Warps per SM", String(one.warps_per_sm), one.registers === null ? "" : `${one.registers} registers per thread`],
      ]} />
      <Contents of={[["machines", "Machines"], ["limits", "Limits"], ...formContents(page)]} />
      <Block id="machines" title="Machines" says="Bars are the predicted times, thin lines the range that the model leaves open.">
        <Wide label="Machines">
          <table>
            <thead><tr><th scope="col">show</th><th scope="col">machine</th><th scope="col" class="less">time</th><th scope="col" class="n">predicted</th><th scope="col" class="n">range</th><th scope="col" class="n">measured</th><th scope="col" class="n">error</th><th scope="col">limited by</th><th scope="col">nearly by</th></tr></thead>
            <tbody>{times.map((t, n) => (
              <tr class={n === chosen ? "chosen" : ""}>
                <td><input type="radio" name="machine" checked={n === chosen} aria-label={`Show ${t.machine}`} onChange={() => setChosen(n)} /></td>
                <td><b>{t.machine}</b></td><td class="less"><Range time={t} most={most} /></td><td class="n">{time(t.milliseconds)}</td>
                <td class="n">{time(t.range_ms[0])}–{time(t.range_ms[1])}</td><td class="n">{time(t.measured_ms)}</td><td class="n">{error(t)}</td>
                <td>{t.limited_by}</td><td>{t.nearly_limited_by.join(", ")}</td></tr>))}
            </tbody>
          </table>
        </Wide>
        <Sentences of={refused.map((r) => `${r.machine}: ${r.why}`)} />
      </Block>
      <Block id="limits" title={`Limits on ${one.machine}`} says="What each part of the GPU alone would take. The longest binds; once it is mended, the next longest does.">
        <Limits now={one.prediction} nowTitle="as it is" file={page.forms[0]?.file ?? ""} />
      </Block>
      <FormSections page={page} />
    </>
  );
}

function error(t: Time): string {
  if (t.measured_ms === null) return "";
  const share = t.milliseconds / t.measured_ms - 1;
  return `${share >= 0 ? "+" : "−"}${percent(Math.abs(share))}`;
}

function Range({ time: t, most }: { time: Time; most: number }) {
  const at = (ms: number) => 2 + (196 * ms) / most;
  return (
    <svg viewBox="0 0 200 18" width="200" height="18" role="img" aria-label={`${time(t.milliseconds)}, between ${time(t.range_ms[0])} and ${time(t.range_ms[1])}`}>
      <rect x="2" y="4" width={at(t.milliseconds) - 2} height="10" fill="var(--now)" rx="2" />
      <line x1={at(t.range_ms[0])} x2={at(t.range_ms[1])} y1="9" y2="9" stroke="var(--ink)" />
      {t.measured_ms === null ? null : <line x1={at(t.measured_ms)} x2={at(t.measured_ms)} y1="0" y2="18" stroke="var(--heat)" stroke-width="3" />}
    </svg>
  );
}
