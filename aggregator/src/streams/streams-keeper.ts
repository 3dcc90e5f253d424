// Reads what the scheduler-plugin knows of stream jobs, and keeps it for who looks back.
import { looseFields } from "@isochrone/primitives";
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
import { StreamHistory } from "./domain/stream-history.ts";
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
/** Of several replicas one leads; each attempt may reach another one. */
const ATTEMPTS = 4;
const MAX_HISTORY_BYTES = 16 * 1024 * 1024;

export class StreamsKeeper {
  readonly #options: StreamsKeeperOptions;
  readonly #history: StreamHistory;
  readonly #periodic: Periodic;

  constructor(options: StreamsKeeperOptions) {
    this.#options = options;
    const { clock, logger, horizonMs } = options;
    this.#history = new StreamHistory({
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
    for (let attempt = 1; ; attempt++) {
      const { status, body } = await this.#options.decisions.fetch(PATH, signal);
      if (status === 200) return parsed(body);
      if (attempt < ATTEMPTS && status === 503 && codeIn(body) !== "streams_off") continue;
      throw new AggregatorError("streams_off", "no scheduler-plugin runs stream jobs (streams.enabled)");
    }
  }
}

/** Of a problem; null where the body is none. */
function codeIn(body: Buffer): unknown {
  try {
    return looseFields<{ code: unknown }>(JSON.parse(body.toString())).code;
  } catch {
    return null;
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
