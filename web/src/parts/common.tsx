import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { chooseTheme, chosenTheme, type Theme } from "../theme";

/** A section of the page with its heading; `id` is what the contents lead to. */
export function Block(props: { id: string; title: string; says?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="block" id={props.id} aria-labelledby={`${props.id}-title`}>
      <h2 id={`${props.id}-title`}>{props.title}</h2>
      {props.says ? <p class="quiet">{props.says}</p> : null}
      {props.children}
    </section>
  );
}

/** A table that scrolls sideways where it does not fit; the keyboard reaches it. */
export function Wide(props: { label: string; class?: string; children: ComponentChildren }) {
  return (
    <div class={props.class ?? "wide"} tabIndex={0} role="region" aria-label={`${props.label}, scrollable`}>
      {props.children}
    </div>
  );
}

/** The switch between light, dark and what the system has. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(chosenTheme());
  return (
    <label class="no-print">
      <span class="quiet">Theme </span>
      <select
        value={theme}
        onChange={(event) => {
          const chosen = event.currentTarget.value as Theme;
          setTheme(chosen);
          chooseTheme(chosen);
        }}
      >
        <option value="system">system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}

/** Sentences as a list; nothing where there are none. */
export function Sentences(props: { of: string[] }) {
  if (!props.of.length) return null;
  return <ul class="plain">{props.of.map((text) => <li>{text}</li>)}</ul>;
}

/** The legend of present and proposed. */
export function Keys(props: { now: string; then?: string }) {
  return (
    <div>
      <span class="key"><i style="background:var(--now)" />{props.now}</span>
      {props.then ? <span class="key"><i style="background:var(--then)" />{props.then}</span> : null}
    </div>
  );
}

/** A background that grows with a share, for heat. */
export function heat(share: number): string {
  const amount = Math.round(100 * Math.sqrt(Math.max(0, Math.min(1, share))) * 0.3);
  return `color-mix(in srgb, var(--heat) ${amount}%, transparent)`;
}

/** The colour of an arrow that is busy for a share of the time. */
export function busy(share: number | null): string {
  if (share === null) return "var(--quiet)";
  const amount = Math.round(100 * Math.max(0, Math.min(1, share)));
  return `color-mix(in srgb, var(--heat) ${amount}%, var(--line))`;
}
