import { scaleLog } from "d3-scale";
import { speed } from "../format";

const WIDTH = 190;

/** Gains of several options on one logarithmic axis: the least and the largest that it shows. */
export function gainScale(ratios: [number, number][]) {
  const gains = ratios.flatMap(([low, high]) => [1 / low, 1 / high]);
  const least = Math.max(0.1, Math.min(0.9, ...gains));
  const most = Math.min(50, Math.max(1.1, ...gains));
  return scaleLog().domain([least, most]).range([6, WIDTH - 6]).clamp(true);
}

/** A gain as a dot, with its 80 % interval as a bar; the vertical line is "as fast as now". */
export function Interval(props: { ratio: number; low: number; high: number; scale: ReturnType<typeof gainScale> }) {
  const { scale } = props;
  const [from, to] = [scale(1 / props.high), scale(1 / props.low)];
  return (
    <svg viewBox={`0 0 ${WIDTH} 18`} width={WIDTH} height="18" role="img"
      aria-label={`gain ${speed(1 / props.ratio)}, 80 % interval ${speed(1 / props.high)} to ${speed(1 / props.low)}`}>
      <line x1={scale(1)} x2={scale(1)} y1="0" y2="18" stroke="var(--quiet)" stroke-dasharray="2 2" />
      <line x1={from} x2={Math.max(to, from + 1)} y1="9" y2="9" stroke="var(--then)" stroke-width="4" opacity="0.45" />
      <circle cx={scale(1 / props.ratio)} cy="9" r="4.5" fill="var(--then)" />
    </svg>
  );
}
