import { useState } from "preact/hooks";
import { Contents, FormSections, Verdict, formContents } from "./report";
import { ProgramPage } from "./program";
import { Diff } from "../parts/diff";
import { Interval, gainScale } from "../parts/interval";
import { Limits } from "../parts/limits";
import { Block, Sentences, Wide } from "../parts/common";
import { base, bytes, chance, count, digits, gain, percent, speed, time } from "../format";
import type { AdviceOption, Page, Prediction, Service } from "../types";

/** What moves, as one reads it. */
function moves(option: AdviceOption): string {
  const tiles = option.chunk_iterations ? ` (tiles of ${option.chunk_iterations} iterations)` : "";
  return option.moves.map((m) => `${m.array} → ${m.to}`).join(", ") + tiles;
}

/** The page of `placewise advise`; of `advise --layouts` see {@link Joint}. */
export function Advice(props: { page: Page }) {
  const schema = props.page.document.schema as string;
  if (schema.startsWith("placewise-program")) return <ProgramPage page={props.page} />;
  return schema === "placewise-joint" ? <Joint page={props.page} /> : <Placements page={props.page} />;
}

function Placements({ page }: { page: Page }) {
  const d = page.document;
  const options = d.options as AdviceOption[];
  const recommended = options.findIndex((o) => d.recommended && isPlaced(o.placement, d.recommended) && o.verification?.identical);
  const shownForm = page.forms.find((f) => f.option !== null)?.option ?? null;
  const [chosen, setChosen] = useState(recommended >= 0 ? recommended : (shownForm ?? 0));
  const option = options[chosen] as AdviceOption | undefined;
  const best = recommended >= 0 ? options[recommended] : undefined;
  const diff = page.changes.find((c) => c.option === chosen);
  const file = base(d.case.source);
  const now = predicted(d.present);
  const then = option ? predicted(option) : null;
  const comparable = now && then && now.model === then.model;
  const sections: [string, string][] = [
    ["options", "Options"], ["limits", "Limits"], ...formContents(page),
    ...(page.changes.length ? [["diff", "Rewrite"] as [string, string]] : []), ["arrays", "Arrays"], ["notes", "Notes"],
  ];
  const facts: [string, string, string?][] = [
    ["Now", time(d.present.predicted_ms), d.present.timed ? `limited by ${d.present.timed.prediction?.binding ?? "?"}` : "no time predicted"],
  ];
  if (best) {
    facts.push(["Best form", time(best.predicted_ms), moves(best)]);
    facts.push(["Gain", gain(best.ratio), `80 % interval ${speed(1 / best.ratio_high)}–${speed(1 / best.ratio_low)}`]);
    facts.push(["Faster with", chance(best.probability_faster), "probability"]);
    facts.push(["Proof", "same bits", "on the case's inputs"]);
  }
  facts.push(["Machine", d.machine.name, d.machine.title]);
  facts.push(["Occupancy", `${d.run.occupancy.warps_per_sm} of ${d.run.occupancy.max_warps_per_sm}`, `warps per SM; ${d.run.registers ?? "?"} registers`]);
  return (
    <>
      <Verdict says={page.verdict} facts={facts} />
      <Contents of={sections} />
      <Ranking options={options} present={d.present} recommended={recommended} chosen={chosen} onChoose={setChosen} compared={d.placements_compared} />
      {option ? <Why option={option} patterns={d.patterns} /> : <Sentences of={d.patterns} />}
      <Block id="limits" title="Limits" says={now?.absolute
        ? "What each part of the GPU alone would take. The longest binds; once it is mended, the next longest does."
        : "Memory time by data path. No absolute time is predicted for this GPU, only ratios."}>
        {now ? <Limits now={now} then={comparable ? then : null} nowTitle="as it is" thenTitle={option ? moves(option) : ""} file={file} /> : null}
        {option && !comparable ? <p class="quiet">{option.timed?.why_not ?? "The chosen form was not written out and timed."}</p> : null}
      </Block>
      <FormSections page={page} />
      {page.changes.length ? (
        <Block id="diff" title="Rewrite" says={option ? `What “${moves(option)}” changes in ${file}.` : ""}>
          {diff ? <Diff lines={diff.lines} label="Changes of the source" /> : <p>This option was not written out. Choose one that was verified.</p>}
          {diff && option?.host ? <details><summary>Host code that it needs</summary><pre class="wide mono" tabIndex={0}>{option.host}</pre></details> : null}
        </Block>
      ) : null}
      <Arrays arrays={d.arrays} />
      <Block id="notes" title="Notes">
        <Sentences of={d.notes} />
        {d.illegal.length ? <details><summary>{d.illegal.length} placements that are not possible</summary>
          <ul class="plain">{d.illegal.map((i: any) => <li><b>{i.array}</b> in {i.space}: {i.reason}</li>)}</ul></details> : null}
      </Block>
    </>
  );
}

/** Whether a form compiles to the code that there is already. */
function isSame(o: AdviceOption): boolean {
  return o.ratio === 1 && o.ratio_low === 1 && o.ratio_high === 1;
}

function isPlaced(a: Record<string, string>, b: Record<string, string>): boolean {
  return Object.keys(b).every((key) => a[key] === b[key]);
}

/** The form's own timed prediction, else that of its memory time. */
function predicted(option: AdviceOption): Prediction | null {
  return option.timed?.prediction ?? option.prediction;
}

function Ranking(props: {
  options: AdviceOption[]; present: AdviceOption; recommended: number; chosen: number;
  onChoose: (n: number) => void; compared: number;
}) {
  const { options, present } = props;
  const known = options.filter((o) => o.probability_faster !== null);
  const scale = gainScale(known.map((o) => [o.ratio_low, o.ratio_high]));
  const timed = options.some((o) => o.timed?.prediction);
  return (
    <Block id="options" title="Options" says={`${props.compared} legal placements compared; these are the best. Choose one to compare it with the kernel as it is.`}>
      <Wide label="Options">
        <table>
          <thead><tr>
            <th scope="col"><span class="quiet">show</span></th><th scope="col">what moves</th><th scope="col" class="less">gain, on a logarithmic scale</th>
            <th scope="col" class="n">gain</th><th scope="col" class="n">80 % interval</th><th scope="col" class="n">likely faster</th>
            {timed ? <th scope="col" class="n">time</th> : null}<th scope="col" class="less">limited by</th><th scope="col">verified</th>
          </tr></thead>
          <tbody>
            {options.map((o, n) => {
              const whole = !timed || o.timed?.prediction;
              return (
                <tr class={n === props.chosen ? "chosen" : ""}>
                  <td><input type="radio" name="option" checked={n === props.chosen} aria-label={`Show ${moves(o)}`} onChange={() => props.onChoose(n)} /></td>
                  <td class={n === props.recommended ? "best" : ""}>{moves(o)} {n === props.recommended ? <span class="badge good">recommended</span> : null}</td>
                  <td class="less">{whole ? <Interval ratio={o.ratio} low={o.ratio_low} high={o.ratio_high} scale={scale} /> : null}</td>
                  <td class="n">{whole ? gain(o.ratio) : <span class="quiet" title="by memory traffic alone">{gain(o.ratio)}*</span>}</td>
                  <td class="n">{!whole ? "" : isSame(o) ? <span class="quiet">same code</span> : `${speed(1 / o.ratio_high)}–${speed(1 / o.ratio_low)}`}</td>
                  <td class="n">{whole && !isSame(o) ? chance(o.probability_faster) : ""}</td>
                  {timed ? <td class="n">{o.timed?.prediction ? time(o.predicted_ms) : ""}</td> : null}
                  <td class="less short">{whole ? predicted(o)?.binding : ""}</td>
                  <td class="short">{o.verification ? (o.verification.identical ? <span class="good">same bits</span> : <span class="bad">{o.verification.detail}</span>) : ""}</td>
                </tr>
              );
            })}
            <tr class="now"><td /><td>nothing (as it is)</td><td class="less" /><td class="n">1.00×</td><td /><td />{timed ? <td class="n">{time(present.predicted_ms)}</td> : null}<td class="less short">{predicted(present)?.binding}</td><td /></tr>
          </tbody>
        </table>
      </Wide>
      {timed && options.some((o) => !o.timed?.prediction) ? <p class="quiet">* by memory traffic alone: these forms were not written out and timed.</p> : null}
    </Block>
  );
}

function Why({ option, patterns }: { option: AdviceOption; patterns: string[] }) {
  if (!option.reasons.length && !patterns.length && !option.costs.length) return null;
  return (
    <div>
      {option.reasons.length ? (
        <>
          <h3>Why: {moves(option)}</h3>
          <Wide label="Reasons">
            <table>
              <thead><tr><th scope="col">array</th><th scope="col">move</th><th scope="col" class="n">transactions per request</th><th scope="col">served by</th></tr></thead>
              <tbody>
                {option.reasons.map((r) => (
                  <tr><td><code>{r.array}</code></td><td>{r.before.space} → {r.after.space}</td>
                    <td class="n">{change(digits(r.before.transactions_per_request), digits(r.after.transactions_per_request))}</td>
                    <td>{change(served(r.before), served(r.after))}</td></tr>
                ))}
              </tbody>
            </table>
          </Wide>
        </>
      ) : null}
      <Sentences of={option.costs.map((c) => `It costs: ${c.text}`)} />
      <Sentences of={option.hints.map((h) => h.text)} />
      {patterns.length ? <><h3>Scattered accesses that no move cures</h3><Sentences of={patterns} /></> : null}
    </div>
  );
}

function change(before: string, after: string): string {
  return before === after ? before : `${before} → ${after}`;
}

function served(service: Service): string {
  return service.served.filter(([, share]) => share >= 0.005).map(([memory, share]) => `${memory} ${percent(share)}`).join(", ");
}

function Arrays(props: { arrays: { array: string; bytes: number; service: Service; share: number; heaviest_line: number | null }[] }) {
  return (
    <Block id="arrays" title="Arrays" says="How the kernel uses its arrays at present.">
      <Wide label="Arrays">
        <table>
          <thead><tr><th scope="col">array</th><th scope="col">now in</th><th scope="col" class="n">size</th><th scope="col" class="n">share of memory cost</th><th scope="col" class="n">requests</th><th scope="col" class="n">lanes</th><th scope="col" class="n">transactions per request</th><th scope="col">served by</th><th scope="col">heaviest at</th></tr></thead>
          <tbody>
            {props.arrays.map((a) => (
              <tr><td><code>{a.array}</code></td><td>{a.service.space}</td><td class="n">{bytes(a.bytes)}</td><td class="n">{percent(a.share)}</td>
                <td class="n">{count(a.service.requests)}</td><td class="n">{digits(a.service.lanes_per_request)}</td><td class="n">{digits(a.service.transactions_per_request)}</td>
                <td>{served(a.service)}</td><td>{a.heaviest_line === null ? "" : `line ${a.heaviest_line}`}</td></tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </Block>
  );
}

interface JointForm { layout: string | null; layout_kind: string | null; placement: Record<string, string> | null; milliseconds: number | null; ratio: number; ratio_range: [number, number]; faster: number | null }

/** Layouts and placements searched together: `placewise advise --layouts`. */
function Joint({ page }: { page: Page }) {
  const d = page.document;
  const forms = d.forms as JointForm[];
  const scale = gainScale(forms.map((f) => f.ratio_range));
  const words = (f: JointForm) => [f.layout && `${f.layout_kind}: ${f.layout}`, f.placement && Object.entries(f.placement).map(([a, s]) => `${a} → ${s}`).join(", ")].filter(Boolean).join("; ") || "as it is";
  return (
    <>
      <Verdict says={page.verdict} facts={[["Now", time(d.present_milliseconds)], ["Machine", d.machine]]} />
      <Block id="options" title="Forms">
        <Wide label="Forms">
          <table>
            <thead><tr><th scope="col">form</th><th scope="col" class="less">gain</th><th scope="col" class="n">gain</th><th scope="col" class="n">80 % interval</th><th scope="col" class="n">likely faster</th><th scope="col" class="n">time</th></tr></thead>
            <tbody>{forms.map((f) => (
              <tr><td>{words(f)}</td><td class="less"><Interval ratio={f.ratio} low={f.ratio_range[0]} high={f.ratio_range[1]} scale={scale} /></td>
                <td class="n">{gain(f.ratio)}</td><td class="n">{speed(1 / f.ratio_range[1])}–{speed(1 / f.ratio_range[0])}</td><td class="n">{chance(f.faster)}</td><td class="n">{time(f.milliseconds)}</td></tr>))}
            </tbody>
          </table>
        </Wide>
      </Block>
      <FormSections page={page} />
      <Block id="notes" title="Notes"><Sentences of={[...d.notes, ...d.layouts.notes]} /></Block>
    </>
  );
}
