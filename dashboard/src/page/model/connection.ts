// State of the server connection and sentences on it. Pure.
import { age } from "./format.ts";

export interface Connection {
  readonly state: "connecting" | "live" | "lost";
  /** Time of the loss, ms since the epoch. */
  readonly sinceMs: number | null;
  /** One-time message after reconnecting. */
  readonly news: string | null;
}

export const CONNECTING: Connection = { state: "connecting", sinceMs: null, news: null };

/** After the stream opened or broke. */
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

/** After the server could not tell what was missed. */
export function afterReset(before: Connection): Connection {
  return { ...before, news: "The server was restarted or has moved on too far; everything was read anew." };
}
