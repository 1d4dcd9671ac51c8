import { StreamLanguage, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { cpp } from "@codemirror/legacy-modes/mode/clike";
import { EditorState, RangeSetBuilder, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, gutter, lineNumbers, type DecorationSet } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import { heat } from "./common";

export const CPP: Extension = StreamLanguage.define(cpp);

export const COLOURS: Extension = syntaxHighlighting(HighlightStyle.define([
  { tag: [tags.keyword, tags.typeName, tags.modifier, tags.standard(tags.variableName)], color: "var(--accent)" },
  { tag: [tags.comment], color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.string, tags.number, tags.atom], color: "var(--good)" },
  { tag: [tags.meta, tags.processingInstruction], color: "var(--bad)" },
]));

const setLinked = StateEffect.define<number[]>();

/** Lines that another pane points to. */
const linkedField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(now, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setLinked)) {
        const builder = new RangeSetBuilder<Decoration>();
        for (const n of [...effect.value].sort((a, b) => a - b)) {
          if (n >= 1 && n <= transaction.state.doc.lines) {
            const at = transaction.state.doc.line(n).from;
            builder.add(at, at, Decoration.line({ class: "linked" }));
          }
        }
        return builder.finish();
      }
    }
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

class Amount extends GutterMarker {
  constructor(readonly text: string, readonly share: number) { super(); }
  eq(other: Amount) { return other.text === this.text && other.share === this.share; }
  toDOM() {
    const span = document.createElement("span");
    span.textContent = this.text;
    return span;
  }
}

export interface LineAmount { text: string; share: number }

/** Read-only code with an amount beside each line and heat behind it. */
export function Code(props: {
  text: string;
  label: string;
  language?: "cuda" | "ptx";
  amounts?: Map<number, LineAmount>;
  numbers?: (line: number) => string;
  linked: number[];
  onLine?: (line: number) => void;
}) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const onLine = useRef(props.onLine);
  onLine.current = props.onLine;
  useEffect(() => {
    if (!host.current) return;
    view.current = new EditorView({
      parent: host.current,
      state: EditorState.create({ doc: props.text, extensions: extensions(props, (line) => onLine.current?.(line)) }),
    });
    // The keyboard scrolls it.
    view.current.scrollDOM.tabIndex = 0;
    return () => view.current?.destroy();
  }, [props.text, props.amounts]);
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const effects: StateEffect<unknown>[] = [setLinked.of(props.linked)];
    const first = Math.min(...props.linked);
    if (props.linked.length && first <= editor.state.doc.lines) {
      effects.push(EditorView.scrollIntoView(editor.state.doc.line(first).from, { y: "nearest", yMargin: 60 }));
    }
    editor.dispatch({ effects });
  }, [props.linked, props.text, props.amounts]);
  return <div ref={host} />;
}

function extensions(props: Parameters<typeof Code>[0], onLine: (line: number) => void): Extension[] {
  const found: Extension[] = [
    EditorState.readOnly.of(true),
    EditorView.contentAttributes.of({ "aria-label": props.label, inputmode: "none", "aria-readonly": "true" }),
    COLOURS,
    linkedField,
    lineNumbers({ formatNumber: (n) => (props.numbers ? props.numbers(n) : String(n)) }),
    EditorView.updateListener.of((update) => {
      if (update.selectionSet) onLine(update.state.doc.lineAt(update.state.selection.main.head).number);
    }),
  ];
  if (props.language === "cuda") found.push(CPP);
  const amounts = props.amounts;
  if (amounts?.size) {
    found.push(gutter({
      class: "cm-heat",
      lineMarker: (editor, line) => {
        const amount = amounts.get(editor.state.doc.lineAt(line.from).number);
        return amount ? new Amount(amount.text, amount.share) : null;
      },
    }));
    found.push(EditorView.decorations.of((editor) => {
      const builder = new RangeSetBuilder<Decoration>();
      for (const [n, amount] of [...amounts].sort((a, b) => a[0] - b[0])) {
        if (n > editor.state.doc.lines || amount.share <= 0) continue;
        const at = editor.state.doc.line(n).from;
        builder.add(at, at, Decoration.line({ attributes: { style: `background:${heat(amount.share)}` } }));
      }
      return builder.finish();
    }));
  }
  return found;
}
