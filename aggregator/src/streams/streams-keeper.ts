// Reads what the scheduler-plugin knows of stream jobs, and keeps it for who looks back.
import { periodic, type Clock, type Logger, type Periodic } from "@isochrone/runtime";
import {
  parseStreamJobs,
  SnapshotError,
  type StreamJobView,
  type StreamsSnapshot,
} from "@isochrone/topology";
import { HISTORY_GAP_MS } from "../domain/graphs/graph-history.ts";
import type { PublishedGraphs } from "../domain/graphs/graph-keeper.ts";
import type { DecisionsSource } from "../http/decisions-routes.ts";
import type { FlowPlanSource } from "../http/flow-plan-route.ts";
import { AggregatorError } from "../ports/errors.ts";
import { askLeader } from "../adapters/ask-leader.ts";
import { SnapshotHistory } from "../domain/snapshot-history.ts";
import { streamsView } from "./domain/streams-view.ts";

interface StreamsKeeperOptions {
  readonly decisions: DecisionsSource;
  readonly plans: FlowPlanSource;
  /** The newest; null before the first. */
  readonly graphs: () => PublishedGraphs | null;
  /** How far back, ms. */
  readonly horizonMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PATH = "/api/v1/stream-jobs";
const MAX_HISTORY_BYTES = 16 * 1024 * 1024;

export class StreamsKeeper {
  readonly #options: StreamsKeeperOptions;
  readonly #history: SnapshotHistory;
  readonly #periodic: Periodic;

  constructor(options: StreamsKeeperOptions) {
    this.#options = options;
    const { clock, logger, horizonMs } = options;
    this.#history = new SnapshotHistory({
      what: "streams are",
      horizonMs,
      minGapMs: HISTORY_GAP_MS / 2,
      maxBytes: MAX_HISTORY_BYTES,
    });
    this.#periodic = periodic({
      clock,
      intervalMs: HISTORY_GAP_MS,
      run: (signal) => this.#keep(signal),
      onError: (error) => logger.warnOnce("streams", "stream jobs can't be read", { error }),
    });
  }

  start(): void {
    this.#periodic.start();
  }

  async stop(): Promise<void> {
    await this.#periodic.stop();
  }

  /** As it is now. Rejects with an AggregatorError where nobody can say it. */
  async now(signal: AbortSignal): Promise<StreamsSnapshot> {
    const { plans, graphs, clock } = this.#options;
    const jobs = await this.#jobs(signal);
    const byNode = await plans.plans();
    const workflows = graphs()?.workflows("full").values() ?? [];
    return streamsView({ jobs, plans: [...byNode.values()], graphs: workflows, nowMs: clock.now() });
  }

  /** JSON of then. Throws an AggregatorError where nothing is kept of then. */
  at(ms: number): string {
    return this.#history.at(ms);
  }

  async #keep(signal: AbortSignal): Promise<void> {
    try {
      this.#history.keep(await this.now(signal), this.#options.clock.now());
    } catch (error) {
      // Where nobody runs stream jobs there is nothing to keep.
      if (!(error instanceof AggregatorError)) throw error;
    }
  }

  async #jobs(signal: AbortSignal): Promise<readonly StreamJobView[]> {
    const body = await askLeader(this.#options.decisions, PATH, "streams_off", signal);
    if (body !== null) return parsed(body);
    throw new AggregatorError("streams_off", "no scheduler-plugin runs stream jobs (streams.enabled)");
  }
}

function parsed(body: Buffer): readonly StreamJobView[] {
  try {
    return parseStreamJobs(JSON.parse(body.toString()));
  } catch (error) {
    if (!(error instanceof SnapshotError || error instanceof SyntaxError)) throw error;
    throw new AggregatorError("decisions_bad_answer", `stream jobs can't be read: ${error.message}`, error);
  }
}
