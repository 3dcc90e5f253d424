import { AggregatorError } from "../ports/errors.ts";

interface SnapshotHistoryOptions {
  readonly what: string;
  readonly horizonMs: number;
  /** Minimum distance between retained snapshots, ms. */
  readonly minGapMs: number;
  /** Limit of text; the oldest snapshots are evicted first. */
  readonly maxBytes: number;
}

interface Frame {
  readonly atMs: number;
  readonly text: string;
}

export class SnapshotHistory {
  readonly #options: SnapshotHistoryOptions;
  readonly #frames: Frame[] = [];
  #bytes = 0;

  constructor(options: SnapshotHistoryOptions) {
    this.#options = options;
  }

  keep(snapshot: object, nowMs: number): void {
    const { horizonMs, minGapMs, maxBytes } = this.#options;
    const last = this.#frames.at(-1);
    if (horizonMs === 0 || (last !== undefined && nowMs - last.atMs < minGapMs)) return;
    const text = JSON.stringify(snapshot);
    this.#frames.push({ atMs: nowMs, text });
    this.#bytes += text.length;
    while (this.#frames[0]!.atMs < nowMs - horizonMs || (this.#bytes > maxBytes && this.#frames.length > 1))
      this.#bytes -= this.#frames.shift()!.text.length;
  }

  /** The newest snapshot that is not younger than `ms`. Throws an AggregatorError if there is none. */
  at(ms: number): string {
    const frame = this.#frames.findLast(({ atMs }) => atMs <= ms);
    if (frame === undefined)
      throw new AggregatorError(
        "not_kept",
        `no ${this.#options.what} stored for ${new Date(ms).toISOString()}`,
      );
    return frame.text;
  }
}
