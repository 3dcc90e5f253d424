import { periodic, type Clock, type Logger, type Periodic } from "@isochrone/runtime";
import { HISTORY_GAP_MS } from "../domain/graphs/graph-history.ts";
import { SnapshotHistory } from "../domain/snapshot-history.ts";
import { AggregatorError } from "../ports/errors.ts";

interface KeptSnapshotsOptions {
  /** Plural subject and verb for messages, such as "streams are". */
  readonly what: string;
  /** Log message for an error that is no AggregatorError. Logged once. */
  readonly trouble: string;
  readonly read: (signal: AbortSignal) => Promise<object>;
  readonly horizonMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const MAX_HISTORY_BYTES = 16 * 1024 * 1024;

/** Takes snapshots at the graphs' interval and keeps them for requests about the past. */
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

  /** Returns the snapshot of that time as JSON. Throws an AggregatorError if none is kept. */
  at(ms: number): string {
    return this.#history.at(ms);
  }
}
