// Numbers as a person reads them.

const SI: [number, string][] = [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]];

/** A count with three digits: 1234567 as "1.23 M". */
export function count(value: number): string {
  const size = Math.abs(value);
  for (const [unit, name] of SI) {
    if (size >= unit * 0.9995) return digits(value / unit) + name;
  }
  return size >= 100 || Number.isInteger(value) ? value.toFixed(0) : digits(value);
}

/** Three significant digits without an exponent. */
export function digits(value: number, most = 3): string {
  if (value === 0) return "0";
  const places = most - 1 - Math.floor(Math.log10(Math.abs(value)));
  return places <= 0 ? value.toFixed(0) : value.toFixed(Math.min(places, 6)).replace(/\.?0+$/, "");
}

/** Bytes in powers of 1024. */
export function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let n = 0;
  while (value >= 1024 && n < units.length - 1) {
    value /= 1024;
    n += 1;
  }
  return `${digits(value)} ${units[n]}`;
}

/** Milliseconds in the unit that fits. */
export function time(ms: number | null | undefined): string {
  if (ms == null) return "–";
  if (ms >= 1000) return `${digits(ms / 1000)} s`;
  if (ms >= 1) return `${digits(ms)} ms`;
  if (ms >= 1e-3) return `${digits(ms * 1e3)} µs`;
  return `${digits(ms * 1e6)} ns`;
}

/** A share as a percentage. */
export function percent(share: number | null | undefined): string {
  if (share == null) return "–";
  const value = share * 100;
  if (value > 0 && value < 1) return "< 1 %";
  return `${value.toFixed(0)} %`;
}

/** A probability as a percentage; the ends stay open, as too few pairs were measured to tell them. */
export function chance(probability: number | null | undefined): string {
  if (probability == null) return "–";
  if (probability > 0.99) return "> 99 %";
  return probability < 0.01 ? "< 1 %" : percent(probability);
}

/** How many times as fast: the inverse of a ratio of times. */
export function gain(ratio: number): string {
  return `${speed(1 / ratio)}×`;
}

/** A speed-up with two places, or two digits if it is small. */
export function speed(value: number): string {
  return value >= 0.1 ? value.toFixed(2) : digits(value, 2);
}

/** A file's name without its folders. */
export function base(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** `file:line` as short as the reader needs it. */
export function place(where: string, file: string): string {
  const cut = where.lastIndexOf(":");
  const [name, line] = [base(where.slice(0, cut)), where.slice(cut + 1)];
  return name === file ? `line ${line}` : `${name}:${line}`;
}
