import type { RawStretch } from "./protocol.ts";

interface Stretch {
  readonly endMs: number;
  readonly firstRequest: number;
  readonly responseMs: (number | null | undefined)[];
  open: number;
  done(this: void, stretch: RawStretch): void;
}

/**
 * Single requests, stretch after stretch; one at a time is recorded, and what is sent after its end is the
 * next one's.
 */
export class Stretches {
  #current: Stretch | null = null;
  /** Requests that were sent after the last stretch's end. */
  #early = new Map<number, { readonly plannedMs: number; responseMs: number | null | undefined }>();
  #endMs = -Infinity;
  #planned = 0;

  /** Records from the last end on, or from now if that is long ago, when nobody asked for stretches. */
  begin(nowMs: number, durationMs: number, done: (stretch: RawStretch) => void): void {
    const first = this.#endMs === -Infinity;
    const endMs = (first ? nowMs : this.#endMs) + durationMs;
    const early = [...this.#early].filter(([, { plannedMs }]) => plannedMs < endMs);
    const responseMs = early.map(([, request]) => request.responseMs);
    const open = responseMs.filter((response) => response === undefined).length;
    const firstRequest = early[0]?.[0] ?? this.#planned;
    for (const [request] of early) this.#early.delete(request);
    this.#endMs = endMs;
    this.#current = { endMs, firstRequest, responseMs, open, done };
    this.end(nowMs);
  }

  /** A request is due; gives its number. */
  planned(plannedMs: number): number {
    const request = this.#planned++;
    const stretch = this.#current;
    if (stretch !== null && plannedMs < stretch.endMs) {
      stretch.responseMs[request - stretch.firstRequest] = undefined;
      stretch.open++;
    } else if (this.#endMs !== -Infinity) this.#early.set(request, { plannedMs, responseMs: undefined });
    return request;
  }

  /** @param responseMs null: failed */
  settled(request: number, responseMs: number | null, nowMs: number): void {
    const early = this.#early.get(request);
    if (early !== undefined) early.responseMs = responseMs;
    const stretch = this.#current;
    const at = request - (stretch?.firstRequest ?? Infinity);
    if (early !== undefined || stretch === null || at < 0 || at >= stretch.responseMs.length) return;
    stretch.responseMs[at] = responseMs;
    stretch.open--;
    this.end(nowMs);
  }

  /**
   * Ends the stretch if its time is over and nothing of it is open. To be called now and then, for stretches
   * without requests.
   */
  end(nowMs: number): void {
    const stretch = this.#current;
    if (stretch === null || nowMs < stretch.endMs || stretch.open > 0) return;
    this.#current = null;
    stretch.done({ responseMs: stretch.responseMs.map((response) => response ?? null) });
  }
}
