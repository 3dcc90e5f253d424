// What is known of the connection to the server, and what is said of it. Pure: events in, sentences out.
import { age } from "./format.ts";

export interface Connection {
  readonly state: "connecting" | "live" | "lost";
  /** Since when it is lost, ms since the epoch. */
  readonly sinceMs: number | null;
  /** What is said once after it came back. */
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

/** After the server said that it can't tell what was missed. */
export function afterReset(before: Connection): Connection {
  return { ...before, news: "The server was restarted or has moved on too far; everything was read anew." };
}
