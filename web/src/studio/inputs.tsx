import { Wide } from "../parts/common";
import type { Argument, Filling } from "./api";

const DTYPES = ["float32", "float64", "float16", "int32", "uint32", "int64", "uint64", "int16", "uint16", "int8", "uint8", "bool"];
const FILLINGS: Record<string, string> = { uniform: "random between", integers: "whole numbers from", arange: "0, 1, 2 …", fill: "all equal to" };

export interface Inputs { kernel: string; block: string; problem: string; arguments: Argument[] }

/** Launch and arguments of a kernel that was pasted. */
export function InputsForm(props: { inputs: Inputs; onInputs: (inputs: Inputs) => void }) {
  const { inputs, onInputs } = props;
  const set = (n: number, change: Partial<Argument>) =>
    onInputs({ ...inputs, arguments: inputs.arguments.map((a, m) => (m === n ? { ...a, ...change } : a)) });
  return (
    <div>
      <div class="controls">
        <label>Kernel <input type="text" size={16} value={inputs.kernel} onInput={(e) => onInputs({ ...inputs, kernel: e.currentTarget.value })} /></label>
        <label>Threads of a block <input type="text" size={9} value={inputs.block} onInput={(e) => onInputs({ ...inputs, block: e.currentTarget.value })} /></label>
        <label>Elements of the problem <input type="text" size={12} value={inputs.problem} onInput={(e) => onInputs({ ...inputs, problem: e.currentTarget.value })} /></label>
      </div>
      {inputs.arguments.length ? (
        <Wide label="Arguments">
          <table>
            <thead><tr><th scope="col">argument</th><th scope="col">type</th><th scope="col">shape</th><th scope="col">contents</th></tr></thead>
            <tbody>{inputs.arguments.map((a, n) => (
              <tr>
                <td><code>{a.name}</code></td>
                <td><select aria-label={`Type of ${a.name}`} value={a.dtype} onChange={(e) => set(n, { dtype: e.currentTarget.value })}>{DTYPES.map((d) => <option>{d}</option>)}</select></td>
                <td>{a.shape === null ? <span class="quiet">scalar</span> : (
                  <input type="text" size={12} aria-label={`Shape of ${a.name}`} value={a.shape.join(", ")} onChange={(e) => set(n, { shape: whole(e.currentTarget.value) })} />
                )}</td>
                <td><FillingForm name={a.name} scalar={a.shape === null} filling={a.filling} onFilling={(filling) => set(n, { filling })} /></td>
              </tr>))}
            </tbody>
          </table>
        </Wide>
      ) : null}
    </div>
  );
}

function FillingForm(props: { name: string; scalar: boolean; filling: Filling; onFilling: (filling: Filling) => void }) {
  const { filling, onFilling } = props;
  const number = (label: string, value: number | undefined, key: "value" | "low" | "high") => (
    <input type="number" step="any" style="width:8.5em" aria-label={`${label} of ${props.name}`} value={value ?? 0}
      onInput={(e) => onFilling({ ...filling, [key]: Number(e.currentTarget.value) })} />
  );
  if (props.scalar) return number("Value", filling.value, "value");
  const span = filling.kind === "uniform" || filling.kind === "integers";
  return (
    <span class="controls" style="margin:0">
      <select aria-label={`Contents of ${props.name}`} value={filling.kind} onChange={(e) => onFilling({ kind: e.currentTarget.value, value: 0, low: 0, high: 1 })}>
        {Object.entries(FILLINGS).map(([kind, words]) => <option value={kind}>{words}</option>)}
      </select>
      {filling.kind === "fill" ? number("Value", filling.value, "value") : null}
      {span ? <>{number("Least", filling.low, "low")}<span class="quiet">to</span>{number("Most", filling.high, "high")}</> : null}
    </span>
  );
}

/** Whole numbers in a text such as "512, 512". */
export function whole(text: string): number[] {
  return text.split(/[^0-9]+/).filter(Boolean).map(Number);
}
