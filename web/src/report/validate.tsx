import { useState } from "preact/hooks";
import { scaleLog } from "d3-scale";
import { Verdict } from "./report";
import { Block, Wide } from "../parts/common";
import { digits, percent, time } from "../format";
import type { Page } from "../types";

const SIZE = 360;
const MARGIN = 56;

/** The page of `placewise validate`: every model beside measured times. */
export function Validation({ page }: { page: Page }) {
  return (
    <>
      <Verdict says={page.verdict} facts={[]} />
      {(page.document.tables as any[]).map((t, n) => <Table table={t} number={n} />)}
    </>
  );
}

function Table({ table, number }: { table: any; number: number }) {
  const answered = table.models.filter((m: any) => m.accuracy);
  const [chosen, setChosen] = useState<string>(answered[0]?.model ?? "");
  const model = table.models.find((m: any) => m.model === chosen);
  return (
    <Block id={`table-${number}`} title={`${table.file} on ${table.machine}`} says={`${table.chosen.length} of ${table.configurations} measured configurations predicted.`}>
      <Wide label="Accuracy of the models">
        <table>
          <thead><tr><th scope="col">show</th><th scope="col">model</th>{["mean error", "median", "scaled", "factor", "rank", "regret", "of 20", "inside"].map((h) => <th scope="col" class="n">{h}</th>)}</tr></thead>
          <tbody>{table.models.map((m: any) => (
            <tr class={m.model === chosen ? "chosen" : ""}>
              <td>{m.accuracy ? <input type="radio" name={`model-${number}`} checked={m.model === chosen} aria-label={`Show ${m.model}`} onChange={() => setChosen(m.model)} /> : null}</td>
              <td>{m.model}</td>
              {m.accuracy ? (
                <><td class="n">{percent(m.accuracy.mean_error)}</td><td class="n">{percent(m.accuracy.median_error)}</td><td class="n">{percent(m.accuracy.scaled_mean_error)}</td>
                  <td class="n">{m.accuracy.factor === null ? "–" : digits(m.accuracy.factor)}</td><td class="n">{m.accuracy.spearman === null ? "–" : m.accuracy.spearman.toFixed(2)}</td>
                  <td class="n">{percent(m.accuracy.regret)}</td><td class="n">{percent(m.accuracy.regret_of_20)}</td><td class="n">{percent(m.accuracy.coverage)}</td></>
              ) : <td colSpan={8} class="quiet">{m.refused[0]?.why ?? "no answer"}</td>}
            </tr>))}
          </tbody>
        </table>
      </Wide>
      {model?.accuracy ? <Scatter table={table} model={model} /> : null}
    </Block>
  );
}

/** Predicted over measured times on logarithmic axes, with the line where both are equal. */
function Scatter({ table, model }: { table: any; model: any }) {
  const factor = model.unit === "ns" ? 1 : (model.accuracy.factor ?? 1);
  const points = model.predictions.map((p: any) => [table.chosen[p.row].measured_ns * 1e-6, p.predicted * factor * 1e-6]).filter(([a, b]: number[]) => a > 0 && b > 0) as [number, number][];
  if (!points.length) return null;
  const ends = points.flat();
  const domain = [Math.min(...ends) / 1.2, Math.max(...ends) * 1.2];
  const x = scaleLog().domain(domain).range([MARGIN, SIZE - 10]);
  const y = scaleLog().domain(domain).range([SIZE - MARGIN + 12, 10]);
  const few = (v: number) => /^[125]/.test(v.toExponential());
  const marks = x.ticks().filter((v) => (domain[1] / domain[0] > 100 ? Number.isInteger(Math.log10(v)) : few(v)));
  return (
    <figure>
      <figcaption>{model.model}: predicted over measured time{model.unit === "ns" ? "" : ", scaled by one factor"}</figcaption>
      <svg viewBox={`0 0 ${SIZE} ${SIZE}`} width={SIZE} role="img" aria-label={`${points.length} configurations; mean error ${percent(model.accuracy.mean_error ?? model.accuracy.scaled_mean_error)}`}>
        {marks.map((v) => <g><line x1={x(v)} x2={x(v)} y1="10" y2={SIZE - MARGIN + 12} stroke="var(--line)" /><line y1={y(v)} y2={y(v)} x1={MARGIN} x2={SIZE - 10} stroke="var(--line)" />
          <text x={x(v)} y={SIZE - MARGIN + 28} text-anchor="middle" class="quiet">{time(v)}</text><text x={MARGIN - 4} y={y(v) + 4} text-anchor="end" class="quiet">{time(v)}</text></g>)}
        <line x1={x(domain[0])} y1={y(domain[0])} x2={x(domain[1])} y2={y(domain[1])} stroke="var(--quiet)" stroke-dasharray="4 3" />
        {points.map(([a, b]) => <circle cx={x(a)} cy={y(b)} r="3" fill="var(--then)" opacity="0.6" />)}
        <text x={SIZE / 2} y={SIZE - 4} text-anchor="middle" class="quiet">measured</text>
        <text transform={`translate(11 ${SIZE / 2}) rotate(-90)`} text-anchor="middle" class="quiet">predicted</text>
      </svg>
    </figure>
  );
}
