import { visible } from "@isochrone/runtime/basics";

interface ProgressScreen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

interface Progress {
  at(share: number, what: string): void;
  clear(): void;
}

const WIDTH = 24;
const EVERY_MS = 50;

export function createProgress(screen: ProgressScreen, nowMs: () => number): Progress {
  if (screen.isTTY !== true) return { at: () => undefined, clear: () => undefined };
  let drawnAtMs = Number.NEGATIVE_INFINITY;
  let isShown = false;
  return {
    at(share, what) {
      const now = nowMs();
      if (now - drawnAtMs < EVERY_MS) return;
      drawnAtMs = now;
      isShown = true;
      screen.write(`\r${bar(share)} ${visible(what)}\u001b[K`);
    },
    clear() {
      if (isShown) screen.write("\r\u001b[K");
      isShown = false;
      drawnAtMs = Number.NEGATIVE_INFINITY;
    },
  };
}

/** `[######------]  50 %` */
export function bar(share: number, width = WIDTH): string {
  const known = Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : 0;
  const full = Math.round(known * width);
  return `[${"#".repeat(full)}${"-".repeat(width - full)}] ${Math.round(known * 100)
    .toString()
    .padStart(3)} %`;
}
