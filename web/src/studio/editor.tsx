import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { COLOURS, CPP } from "../parts/code";

export interface Mistake { line: number; column: number; message: string }

/** An editor for source or machine files, with mistakes marked at their place. */
export function Editor(props: { text: string; label: string; cpp?: boolean; mistake?: Mistake | null; onText: (text: string) => void }) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const onText = useRef(props.onText);
  onText.current = props.onText;
  useEffect(() => {
    if (!host.current) return;
    const extensions: Extension[] = [
      lineNumbers(), history(), COLOURS, CPP,
      keymap.of([...defaultKeymap, ...historyKeymap]),
      EditorView.contentAttributes.of({ "aria-label": props.label }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onText.current(update.state.doc.toString());
      }),
    ];
    view.current = new EditorView({ parent: host.current, state: EditorState.create({ doc: props.text, extensions }) });
    view.current.scrollDOM.tabIndex = 0;
    return () => view.current?.destroy();
  }, []);
  useEffect(() => {
    const editor = view.current;
    if (editor && editor.state.doc.toString() !== props.text) {
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: props.text } });
    }
  }, [props.text]);
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const found: Diagnostic[] = [];
    if (props.mistake) {
      const line = editor.state.doc.line(Math.min(Math.max(1, props.mistake.line), editor.state.doc.lines));
      const from = Math.min(line.to, line.from + Math.max(0, props.mistake.column - 1));
      found.push({ from, to: Math.max(from, line.to), severity: "error", message: props.mistake.message });
    }
    editor.dispatch(setDiagnostics(editor.state, found));
  }, [props.mistake]);
  return <div class="pane editor" ref={host} />;
}
