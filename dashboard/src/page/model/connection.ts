import { age } from "./format.ts";

export interface Connection {
  readonly state: "connecting" | "live" | "lost";
  readonly sinceMs: number | null;
  readonly news: string | null;
}

export const CONNECTING: Connection = { state: "connecting", sinceMs: null, news: null };

export function afterStream(before: Connection, isOpen: boolean, nowMs: number): Connection {
  if (!isOpen) return before.state === "lost" ? before : { state: "lost", sinceMs: nowMs, news: null };
  if (before.state !== "lost" || before.sinceMs === null)
    return { state: "live", sinceMs: null, news: before.news };
  const gone = age((nowMs - before.sinceMs) / 1000);
  return {
    state: "live",
    sinceMs: null,
    news: `Connected again after ${gone === "now" ? "a moment" : gone}; the page is up to date.`,
  };
}

export function afterReset(before: Connection): Connection {
  return { ...before, news: "The server was restarted or has moved on too far; everything was read anew." };
}
