// What the studio's server is asked, with the token of this page.

import type { Page } from "../types";

const token = () => document.getElementById("placewise")?.dataset.token ?? "";

/** An answer that is an error, in the words of the server. */
export class Told extends Error {
  constructor(message: string, readonly where: string | null, readonly hint: string | null) { super(message); }
}

async function ask<T>(path: string, init: RequestInit = {}): Promise<T> {
  const answer = await fetch(path, { ...init, headers: { "X-Placewise-Token": token() } }).catch(() => {
    throw new Told("the studio does not answer: is `placewise studio` still running?", null, null);
  });
  const data = await answer.json();
  if (!answer.ok) throw new Told(data.message ?? answer.statusText, data.where ?? null, data.hint ?? null);
  return data as T;
}

const post = <T>(path: string, data: unknown) => ask<T>(path, { method: "POST", body: JSON.stringify(data) });

export interface Start {
  version: string;
  machines: { name: string; title: string }[];
  examples: { name: string; group: string; description: string }[];
  seconds: number;
}

export interface Filling { kind: string; value?: number; low?: number; high?: number; seed?: number }
export interface Argument { name: string; dtype: string; shape: number[] | null; filling: Filling }
export interface Draft { kernels: { kernel: string; arguments: Argument[] }[]; problem: number[]; block: number[] }

export interface Figure { part: string; name: string; value: number | string | boolean | null; unit: string; source: string | null; editable: boolean }
export interface MachineView {
  text: string;
  name: string | null;
  title: string | null;
  figures: Figure[];
  error: { line: number; column: number; message: string; hint: string | null } | null;
}
export interface AskedMachine { name?: string; text?: string }

export type RunEvent =
  | { event: "progress"; step: string; done: number; total: number }
  | { event: "done"; page: Page }
  | { event: "failed"; message: string; where: string | null; hint: string | null }
  | { event: "cancelled" };

export const start = () => ask<Start>("/api/start");
export const example = (name: string) => ask<{ name: string; source: string; description: string }>(`/api/example/${encodeURIComponent(name)}`);
export const draft = (source: string) => post<Draft>("/api/draft", { source });
export const run = (request: unknown) => post<{ run: string }>("/api/runs", request);
export const cancel = (name: string) => post<object>(`/api/runs/${name}/cancel`, {});
export const machine = (asked: { name: string } | { text: string; edit?: { part: string; name: string; value: string } }) => post<MachineView>("/api/machine", asked);
export const compare = (one: AskedMachine, other: AskedMachine) => post<any>("/api/compare", { one, other });
export const mt4g = (text: string) => ask<MachineView>("/api/mt4g", { method: "POST", body: text });
export const reportAddress = (name: string) => `/api/runs/${name}/report.html?token=${encodeURIComponent(token())}`;

/** Hear of a run until its end. */
export function listen(name: string, hear: (event: RunEvent) => void): void {
  const source = new EventSource(`/api/runs/${name}/events?token=${encodeURIComponent(token())}`);
  source.onmessage = (message) => {
    const event = JSON.parse(message.data) as RunEvent;
    if (event.event !== "progress") source.close();
    hear(event);
  };
  source.onerror = () => {
    source.close();
    hear({ event: "failed", message: "the studio does not answer any more", where: null, hint: null });
  };
}

/** Save a text as a file. */
export function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
