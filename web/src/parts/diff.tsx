import { Wide } from "./common";
import type { ChangedLine } from "../types";

const SIGNS: Record<string, string> = { added: "+", removed: "−", same: " ", gap: " " };

/** What a form changes in the source. */
export function Diff(props: { lines: ChangedLine[]; label: string }) {
  return (
    <Wide label={props.label} class="diff">
      <table>
        <tbody>
          {props.lines.map((line) => (
            <tr class={line.kind}>
              <td class="n">{line.before ?? ""}</td>
              <td class="n">{line.after ?? ""}</td>
              <td>{line.kind === "gap" ? `${line.text} lines as they are` : `${SIGNS[line.kind]} ${line.text}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
