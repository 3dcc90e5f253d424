import type { Clock, Logger } from "@isochrone/runtime";
import { parseStreamJobs, type StreamJobView, type StreamsSnapshot } from "@isochrone/topology";
import type { PublishedGraphs } from "../domain/graphs/graph-keeper.ts";
import type { DecisionsSource } from "../http/decisions-routes.ts";
import type { FlowPlanSource } from "../http/flow-plan-route.ts";
import { AggregatorError } from "../ports/errors.ts";
import { askLeader, readAnswer } from "../adapters/ask-leader.ts";
import { KeptSnapshots } from "../adapters/kept-snapshots.ts";
import { streamsView } from "./domain/streams-view.ts";

interface StreamsKeeperOptions {
  readonly decisions: DecisionsSource;
  readonly plans: FlowPlanSource;
  /** The newest graphs; null before the first. */
  readonly graphs: () => PublishedGraphs | null;
  /** Retention, ms. */
  readonly horizonMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PATH = "/api/v1/stream-jobs";

export class StreamsKeeper {
  readonly #options: StreamsKeeperOptions;
  readonly #kept: KeptSnapshots;

  constructor(options: StreamsKeeperOptions) {
    this.#options = options;
    this.#kept = new KeptSnapshots({
      ...options,
      what: "streams are",
      trouble: "stream jobs can't be read",
      read: (signal) => this.now(signal),
    });
  }

  start(): void {
    this.#kept.start();
  }

  stop(): Promise<void> {
    return this.#kept.stop();
  }

  /** Current state. Rejects with an AggregatorError if it is unavailable. */
  async now(signal: AbortSignal): Promise<StreamsSnapshot> {
    const { plans, graphs, clock } = this.#options;
    const jobs = await this.#jobs(signal);
    const byNode = await plans.plans();
    const workflows = graphs()?.workflows("full").values() ?? [];
    return streamsView({ jobs, plans: [...byNode.values()], graphs: workflows, nowMs: clock.now() });
  }

  /** Retained state as JSON. Throws an AggregatorError if there is none. */
  at(ms: number): string {
    return this.#kept.at(ms);
  }

  async #jobs(signal: AbortSignal): Promise<readonly StreamJobView[]> {
    const body = await askLeader(this.#options.decisions, PATH, "streams_off", signal);
    if (body !== null) return readAnswer(body, parseStreamJobs, "stream jobs");
    throw new AggregatorError("streams_off", "no scheduler-plugin runs stream jobs (streams.enabled)");
  }
}
