import { useEffect, useState } from "preact/hooks";
import { base, count } from "../format";
import type { PageForm, WarpSample } from "../types";

const CELL = 13;
const BANKS = 32;
const SHOWN_ROWS = 32;

/** One access of a warp: which lanes touch which sectors, or which banks. */
export function SampleView(props: { forms: PageForm[]; line: number | null }) {
  const all = props.forms.flatMap((form) => form.samples.map((sample) => ({ form, sample })));
  const worst = all.reduce((best, one, n) => (excess(one.sample) > excess(all[best].sample) ? n : best), 0);
  const [chosen, setChosen] = useState(worst);
  useEffect(() => {
    const at = all.findIndex((one) => one.sample.line === props.line && one.form === props.forms[0]);
    if (at >= 0) setChosen(at);
  }, [props.line]);
  const one = all[Math.min(chosen, all.length - 1)];
  return (
    <div>
      <div class="controls no-print">
        <label>Access
          <select value={chosen} onChange={(e) => setChosen(Number(e.currentTarget.value))}>
            {props.forms.map((form) => (
              <optgroup label={form.title}>
                {all.map((a, n) => (a.form === form ? <option value={n}>{name(a.sample, form)}</option> : null))}
              </optgroup>
            ))}
          </select>
        </label>
      </div>
      <Card sample={one.sample} title={`${one.form.title}: ${name(one.sample, one.form)}`} />
    </div>
  );
}

function isBanked(sample: WarpSample): boolean {
  return sample.space === "shared";
}

function excess(sample: WarpSample): number {
  const lanes = sample.offsets.filter((o) => o !== null).length;
  const unit = isBanked(sample) ? 128 : sample.sector_bytes;
  return sample.transactions / Math.max(1, Math.ceil((lanes * sample.lane_bytes) / unit));
}

function name(sample: WarpSample, form: PageForm): string {
  const at = sample.line === null ? "" : sample.file && base(sample.file) !== form.file ? `${base(sample.file)}:${sample.line}, ` : `line ${sample.line}, `;
  const what = isBanked(sample) ? "wavefronts" : sample.space === "constant" ? "addresses" : "sectors";
  const which = sample.chosen === "first" ? "first access" : "worst access";
  return `${at}${sample.kind} ${sample.array ?? `${sample.space} memory`} (${sample.opcode}), ${which}: ${count(sample.transactions)} ${what}`;
}

function Card(props: { sample: WarpSample; title: string }) {
  const { sample } = props;
  const lanes = sample.offsets.filter((o) => o !== null).length;
  const where = `Warp ${sample.warp} of block ${sample.block}, ${lanes} lanes of ${sample.lane_bytes} bytes.`;
  return (
    <figure>
      <figcaption>{props.title}</figcaption>
      {isBanked(sample) ? <Banks sample={sample} where={where} /> : <Sectors sample={sample} where={where} />}
    </figure>
  );
}

/** Rows are sectors in the order of their addresses, columns are lanes. */
function Sectors({ sample, where }: { sample: WarpSample; where: string }) {
  const touched = new Map<number, Set<number>>();
  sample.offsets.forEach((offset, lane) => {
    if (offset === null) return;
    const last = Math.floor((offset + sample.lane_bytes - 1) / sample.sector_bytes);
    for (let s = Math.floor(offset / sample.sector_bytes); s <= last; s++) {
      touched.set(s, (touched.get(s) ?? new Set()).add(lane));
    }
  });
  const rows = [...touched].sort((a, b) => a[0] - b[0]);
  const shown = rows.slice(0, SHOWN_ROWS);
  const lanes = sample.offsets.filter((o) => o !== null).length;
  const least = Math.max(1, Math.ceil((lanes * sample.lane_bytes) / sample.sector_bytes));
  const what = sample.space === "constant" ? "words" : "sectors";
  const left = 92;
  const height = 34 + shown.length * CELL;
  return (
    <>
      <p>{where} It touches {rows.length} {what} of {sample.sector_bytes} bytes; {least} would hold all its data.</p>
      <div class="wide" tabIndex={0} role="region" aria-label="Lanes by sectors">
        <svg viewBox={`0 0 ${left + 32 * CELL + 4} ${height}`} width={left + 32 * CELL + 4} style="max-width:none" role="img"
          aria-label={`Lanes 0 to 31 by ${rows.length} ${what}: ${shown.map(([s, l]) => `${s * sample.sector_bytes}: ${l.size} lanes`).join(", ")}`}>
          <LaneNumbers left={left} />
          {shown.map(([sector, lanesOf], row) => (
            <g>
              <text x={left - 6} y={30 + row * CELL} text-anchor="end" class="quiet" style="font-size:10px">+{sector * sample.sector_bytes} B</text>
              {sample.offsets.map((_, lane) => (
                <rect x={left + lane * CELL} y={20 + row * CELL} width={CELL - 1} height={CELL - 1}
                  fill={lanesOf.has(lane) ? "var(--then)" : "var(--panel)"} />
              ))}
            </g>
          ))}
        </svg>
      </div>
      {rows.length > shown.length ? <p class="quiet">and {rows.length - shown.length} more {what}</p> : null}
    </>
  );
}

function LaneNumbers({ left }: { left: number }) {
  return (
    <>
      {[0, 4, 8, 12, 16, 20, 24, 28, 31].map((lane) => (
        <text x={left + lane * CELL + CELL / 2} y="14" text-anchor="middle" class="quiet" style="font-size:10px">{lane}</text>
      ))}
      <text x={left - 6} y="14" text-anchor="end" class="quiet" style="font-size:10px">lane</text>
    </>
  );
}

/** Rows are lanes, columns are the 32 banks; a bank asked for several words at once is hot. */
function Banks({ sample, where }: { sample: WarpSample; where: string }) {
  const words = new Map<number, Set<number>>();
  const cells = sample.offsets.map((offset) => {
    if (offset === null) return [];
    const found: number[] = [];
    for (let b = offset; b < offset + Math.max(4, sample.lane_bytes); b += 4) {
      const word = Math.floor(b / 4);
      const bank = ((word % BANKS) + BANKS) % BANKS;
      words.set(bank, (words.get(bank) ?? new Set()).add(word));
      found.push(bank);
    }
    return found;
  });
  const most = Math.max(1, ...[...words.values()].map((w) => w.size));
  const wide = Math.max(1, Math.ceil((sample.lane_bytes * 32) / 128));
  const hot = [...words.values()].filter((w) => w.size > wide).length;
  const left = 44;
  return (
    <>
      <p>{where} {sample.transactions} wavefront{sample.transactions === 1 ? "" : "s"}; {hot
        ? `${hot} banks are asked for several words at once, ${most} at the most.`
        : "no bank is asked for more words than the width of the access needs."}</p>
      <div class="wide" tabIndex={0} role="region" aria-label="Lanes by banks">
        <svg viewBox={`0 0 ${left + BANKS * CELL + 4} ${24 + 32 * CELL}`} width={left + BANKS * CELL + 4} style="max-width:none" role="img"
          aria-label={`32 lanes by 32 banks: ${[...words].sort((a, b) => a[0] - b[0]).map(([b, w]) => `bank ${b}: ${w.size} words`).join(", ")}`}>
          {[0, 4, 8, 12, 16, 20, 24, 28, 31].map((bank) => (
            <text x={left + bank * CELL + CELL / 2} y="14" text-anchor="middle" class="quiet" style="font-size:10px">{bank}</text>
          ))}
          <text x={left - 6} y="14" text-anchor="end" class="quiet" style="font-size:10px">bank</text>
          {cells.map((banks, lane) => (
            <g>
              {lane % 4 === 0 || lane === 31 ? <text x={left - 6} y={30 + lane * CELL} text-anchor="end" class="quiet" style="font-size:10px">{lane}</text> : null}
              {Array.from({ length: BANKS }, (_, bank) => (
                <rect x={left + bank * CELL} y={20 + lane * CELL} width={CELL - 1} height={CELL - 1}
                  fill={!banks.includes(bank) ? "var(--panel)" : (words.get(bank)?.size ?? 0) > wide ? "var(--heat)" : "var(--then)"} />
              ))}
            </g>
          ))}
        </svg>
      </div>
      <p class="quiet"><span class="key"><i style="background:var(--then)" />one word of the bank</span>
        <span class="key"><i style="background:var(--heat)" />a bank with conflicts</span> Rows are lanes.</p>
    </>
  );
}
