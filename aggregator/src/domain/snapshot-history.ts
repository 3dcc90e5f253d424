// What was shown in the last hour, as text.
import { AggregatorError } from "../ports/errors.ts";

interface SnapshotHistoryOptions {
  /** For messages. */
  readonly what: string;
  /** How far back, ms. */
  readonly horizonMs: number;
  /** Snapshots closer together than this are not kept, ms. */
  readonly minGapMs: number;
  /** Of text; the oldest go first. */
  readonly maxBytes: number;
}

interface Frame {
  readonly atMs: number;
  /** As it is served. */
  readonly text: string;
}

export class SnapshotHistory {
  readonly #options: SnapshotHistoryOptions;
  /** Oldest first. */
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

  /**
   * As it was at that moment: the newest that is not younger. Throws an AggregatorError where nothing is kept
   * of then.
   */
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
