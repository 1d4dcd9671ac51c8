/** The studio's client. */
export function startStudio(_root: HTMLElement): void {}
