import { periodic, type Clock, type Logger, type Periodic } from "@isochrone/runtime";
import { HISTORY_GAP_MS } from "../domain/graphs/graph-history.ts";
import { SnapshotHistory } from "../domain/snapshot-history.ts";
import { AggregatorError } from "../ports/errors.ts";

interface KeptSnapshotsOptions {
  /** For messages: "streams are". */
  readonly what: string;
  /** What is said, once, of an error that isn't an AggregatorError. */
  readonly trouble: string;
  /** Rejects with an AggregatorError where there is nothing to keep. */
  readonly read: (signal: AbortSignal) => Promise<object>;
  /** How far back, ms. */
  readonly horizonMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const MAX_HISTORY_BYTES = 16 * 1024 * 1024;

/** Reads snapshots as often as graphs are kept, and keeps them for who looks back. */
export class KeptSnapshots {
  readonly #history: SnapshotHistory;
  readonly #periodic: Periodic;

  constructor({ what, trouble, read, horizonMs, clock, logger }: KeptSnapshotsOptions) {
    const minGapMs = HISTORY_GAP_MS / 2;
    const history = new SnapshotHistory({ what, horizonMs, minGapMs, maxBytes: MAX_HISTORY_BYTES });
    this.#history = history;
    this.#periodic = periodic({
      clock,
      intervalMs: HISTORY_GAP_MS,
      run: async (signal) => {
        try {
          history.keep(await read(signal), clock.now());
        } catch (error) {
          if (!(error instanceof AggregatorError)) throw error;
        }
      },
      onError: (error) => logger.warnOnce(what, trouble, { error }),
    });
  }

  start(): void {
    this.#periodic.start();
  }

  stop(): Promise<void> {
    return this.#periodic.stop();
  }

  /** JSON of then. Throws an AggregatorError where nothing is kept of then. */
  at(ms: number): string {
    return this.#history.at(ms);
  }
}
