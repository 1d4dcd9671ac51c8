// The documents that a page shows, as `placewise.schemas` describes them. Only the keys that are
// read are named.

export type Kind =
  | "advise" | "layout" | "time" | "counters" | "lint" | "run" | "validate" | "probe";

export interface ChartUnit {
  id: string;
  amount: number;
  unit: string;
  hit_share: number | null;
  size_bytes: number | null;
}

export interface ChartLink {
  source: string;
  target: string;
  kind: "read" | "write" | "request";
  amount: number;
  unit: string;
  peak_share: number | null;
}

export interface MemoryChart {
  units: ChartUnit[];
  links: ChartLink[];
}

export interface LineHeat {
  file: string;
  line: number;
  instructions: number;
  requests: number;
  cached_requests: number;
  sectors: number;
  least_sectors: number;
  wavefronts: number;
  least_wavefronts: number;
  l2_sectors: number;
  dram_sectors: number;
  saving: number;
}

export interface WarpSample {
  opcode: string;
  place: number;
  file: string | null;
  line: number | null;
  kind: string;
  space: string;
  array: string | null;
  lane_bytes: number;
  block: number;
  warp: number;
  offsets: (number | null)[];
  transactions: number;
  sector_bytes: number;
  chosen: "first" | "most";
}

export interface CodeLine {
  text: string;
  file: string | null;
  line: number | null;
  place: number;
  executions: number | null;
}

export interface RooflinePoint {
  milliseconds: number;
  operations: number;
  warp_instructions: number;
  l2_bytes: number;
  dram_bytes: number;
  peak_operations_per_s: number;
  peak_instructions_per_s: number | null;
  peak_l2_bytes_per_s: number;
  peak_dram_bytes_per_s: number | null;
}

export interface ChangedLine {
  kind: "same" | "removed" | "added" | "gap";
  before: number | null;
  after: number | null;
  text: string;
}

export interface StallsAt {
  place: number;
  file: string | null;
  line: number | null;
  issued: number;
  waits: number[];
  waits_for: { place: number; file: string | null; line: number | null } | null;
}

export interface WarpTimeline {
  cycles: number;
  cycles_per_column: number;
  blocks: number;
  warps_per_block: number;
  is_complete: boolean;
  states: string[];
  issue_share: number[];
  warps: string[];
  stalls: StallsAt[];
}

export interface PageForm {
  title: string;
  option: number | null;
  file: string;
  source: string;
  language: "cuda" | "ptx";
  chart: MemoryChart | null;
  lines: LineHeat[];
  samples: WarpSample[];
  timeline: WarpTimeline | null;
  curves: Curve[];
  ptx: CodeLine[];
  sass: CodeLine[];
  roofline: RooflinePoint | null;
  notes: string[];
}

export interface Curve {
  title: string;
  x_label: string;
  y_label: string;
  x: number[];
  y: (number | null)[];
  marks: [number, string][];
}

export interface Page {
  schema: "placewise-page";
  kind: Kind;
  title: string;
  verdict: string;
  version: string;
  // The command's own document; sections read it through the types below.
  document: any;
  forms: PageForm[];
  changes: { option: number; title: string; lines: ChangedLine[] }[];
  curves: Curve[];
}

export interface Part {
  path: string;
  cycles: number;
  lines: { line: string; cycles: number }[];
  terms: { array: string; memory: string; cycles: number }[];
}

export interface Prediction {
  model: string;
  cycles: number;
  absolute: boolean;
  clock_mhz: number | null;
  binding: string;
  parts: Part[];
}

export interface Service {
  space: string;
  path: string;
  requests: number;
  lanes_per_request: number;
  transactions_per_request: number;
  served: [string, number][];
  cycles: number;
}

export interface AdviceOption {
  placement: Record<string, string>;
  moves: { array: string; from: string; to: string }[];
  chunk_iterations: number | null;
  ratio: number;
  ratio_low: number;
  ratio_high: number;
  probability_faster: number | null;
  predicted_ms: number | null;
  timed: { ms: number | null; range_ms: [number, number] | null; why_not: string | null; prediction: Prediction | null } | null;
  prediction: Prediction;
  reasons: { text: string; array: string; before: Service; after: Service }[];
  costs: { array: string; text: string }[];
  hints: { text: string }[];
  verification: { identical: boolean; detail: string } | null;
  source: string | null;
  host: string | null;
}
