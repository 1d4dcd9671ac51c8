import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Advice } from "./advise";
import { Counters } from "./counters";
import { Layouts } from "./layout";
import { Lint } from "./lint";
import { Probe } from "./probe";
import { Run } from "./run";
import { Times } from "./time";
import { Validation } from "./validate";
import { MemoryChartView } from "../parts/memory_chart";
import { Plot } from "../parts/plot";
import { Roofline } from "../parts/roofline";
import { SampleView } from "../parts/samples";
import { SourceView } from "../parts/source";
import { WarpView } from "../parts/warps";
import { Block, Keys, Sentences, ThemeSwitch } from "../parts/common";
import type { Curve, Kind, Page, PageForm } from "../types";

const PAGES: Record<Kind, (props: { page: Page }) => ComponentChildren> = {
  advise: Advice, layout: Layouts, time: Times, counters: Counters, lint: Lint, run: Run,
  validate: Validation, probe: Probe,
};

/** A whole report. `embedded`: inside the studio, which has a head of its own. */
export function ReportView(props: { page: Page; embedded?: boolean }) {
  const { page } = props;
  const Body = PAGES[page.kind];
  return (
    <div class={props.embedded ? "" : "page"}>
      {props.embedded ? null : (
        <>
          <a class="skip" href="#answer">To the answer</a>
          <header class="top">
            <span class="name">Placewise</span>
            <h1 class="fill">{page.title}</h1>
            <ThemeSwitch />
            <button class="no-print" onClick={() => window.print()}>Print</button>
          </header>
        </>
      )}
      {props.embedded ? <div><Body page={page} /></div> : <main id="answer"><Body page={page} /></main>}
      {props.embedded ? null : <footer>Made by Placewise {page.version}. Times and counters are predicted unless a line says measured.</footer>}
    </div>
  );
}

/** The contents of a page: links to its sections. */
export function Contents(props: { of: [string, string][] }) {
  return (
    <nav class="contents" aria-label="Sections" tabIndex={0}>
      {props.of.map(([id, title]) => <a href={`#${id}`}>{title}</a>)}
    </nav>
  );
}

/** The answer in a sentence, with the figures that matter most. */
export function Verdict(props: { says: string; facts: [string, string, string?][] }) {
  return (
    <section class="verdict" aria-label="Verdict">
      <p class="says">{props.says}</p>
      <dl class="facts">
        {props.facts.map(([name, value, more]) => (
          <div><dt>{name}</dt><dd>{value}{more ? <small>{more}</small> : null}</dd></div>
        ))}
      </dl>
    </section>
  );
}

/** Titles of the sections that {@link FormSections} shows for a page. */
export function formContents(page: Page): [string, string][] {
  const forms = page.forms;
  const found: [string, string][] = [];
  if (forms.some((f) => f.chart)) found.push(["memory", "Memory"]);
  if (forms.some((f) => f.timeline)) found.push(["warps", "Warps"]);
  if (forms.some((f) => f.source || f.sass.length)) found.push(["source", "Source"]);
  if (forms.some((f) => f.samples.length)) found.push(["accesses", "Accesses"]);
  if (forms.some((f) => f.curves.length)) found.push(["caches", "Caches"]);
  if (forms.some((f) => f.roofline)) found.push(["roofline", "Roofline"]);
  return found;
}

/** Curves of the same cache together: one for each form. */
function cacheCurves(forms: PageForm[]): Curve[][] {
  const found = new Map<string, Curve[]>();
  for (const curve of forms.slice(0, 2).flatMap((f) => f.curves)) {
    const cache = curve.title.split(":", 1)[0];
    found.set(cache, [...(found.get(cache) ?? []), curve]);
  }
  return [...found.values()];
}

/** Memory chart, warps over time, source with heat, accesses of single warps, miss curves and roofline
 * of the page's forms. */
export function FormSections(props: { page: Page }) {
  const forms = props.page.forms;
  const [line, setLine] = useState<number | null>(null);
  const has = new Set(formContents(props.page).map(([id]) => id));
  return (
    <>
      {has.has("memory") ? (
        <Block id="memory" title="Memory" says={<>From the kernel's instructions down to DRAM, whole launch. Arrows are coloured by how much of the predicted time they alone would be busy: <span class="no-print">0 %<span class="ramp" />100 %</span></>}>
          <div class="charts">
            {forms.map((f) => (f.chart ? <MemoryChartView chart={f.chart} title={f.title} /> : null))}
          </div>
          <Sentences of={[...new Set(forms.flatMap((f) => f.notes))]} />
        </Block>
      ) : null}
      {has.has("warps") ? (
        <Block id="warps" title="Warps" says="The first blocks of one SM, cycle by cycle, as the prediction has them: when each warp issues, and what it waits for.">
          <WarpView forms={forms.filter((f) => f.timeline)} onLine={setLine} />
        </Block>
      ) : null}
      {has.has("source") ? (
        <Block id="source" title="Source" says="Choose a line, and what was compiled from it is marked beside it.">
          <SourceView forms={forms.filter((f) => f.source || f.sass.length)} line={line} onLine={setLine} />
        </Block>
      ) : null}
      {has.has("accesses") ? (
        <Block id="accesses" title="Accesses" says="What the lanes of one warp really asked for at once, in the block in the middle of the launch.">
          <SampleView forms={forms.filter((f) => f.samples.length)} line={line} />
        </Block>
      ) : null}
      {has.has("caches") ? (
        <Block id="caches" title="Caches" says="What a cache of another size would miss, were it fully associative and the least recently used went first. The mark is this GPU's.">
          <div class="charts">
            {cacheCurves(forms).map((of) => <Plot curves={of} />)}
          </div>
          {forms.filter((f) => f.curves.length).length > 1 ? <Keys now={forms[0].title} then={forms[1].title} /> : null}
        </Block>
      ) : null}
      {has.has("roofline") ? (
        <Block id="roofline" title="Roofline" says="How much work the launch does for each byte that it moves, and how fast.">
          <Roofline forms={forms} />
        </Block>
      ) : null}
    </>
  );
}
