import type { RawStretch } from "./protocol.ts";

interface Stretch {
  readonly endMs: number;
  readonly firstRequest: number;
  readonly responseMs: (number | null | undefined)[];
  open: number;
  done(this: void, stretch: RawStretch): void;
}

/** Records the requests of one period at a time; requests sent after its end belong to the next one. */
export class Stretches {
  #current: Stretch | null = null;
  #early = new Map<number, { readonly plannedMs: number; responseMs: number | null | undefined }>();
  #endMs = -Infinity;
  #planned = 0;

  /** Continues at the last period's end, or starts now if that is long ago. */
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

  planned(plannedMs: number): number {
    const request = this.#planned++;
    const stretch = this.#current;
    if (stretch !== null && plannedMs < stretch.endMs) {
      stretch.responseMs[request - stretch.firstRequest] = undefined;
      stretch.open++;
    } else if (this.#endMs !== -Infinity) this.#early.set(request, { plannedMs, responseMs: undefined });
    return request;
  }

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

  /** Ends the period if its time is over and no request is open. Call regularly, even without requests. */
  end(nowMs: number): void {
    const stretch = this.#current;
    if (stretch === null || nowMs < stretch.endMs || stretch.open > 0) return;
    this.#current = null;
    stretch.done({ responseMs: stretch.responseMs.map((response) => response ?? null) });
  }
}
