// What a part of the scheduler-plugin does while this replica leads: one term after another, each begun and ended here.
import { leaderStore } from "@isochrone/kubernetes";
import type { ClusterStore } from "@isochrone/kubernetes";
import { SCHEDULER_LEASE } from "./leadership.ts";
import type { Leadership, SharedLeadership } from "./leadership.ts";

/** What runs while this replica leads. */
export interface Term {
  /** Ends it; resolves once nothing of it runs any more. */
  stop(): Promise<void>;
}

export interface TermsOptions<T extends Term> {
  readonly leadership: Pick<SharedLeadership, "join">;
  /** Begins a term. */
  readonly begin: () => T;
  /** Hears whether a term runs: for a metric. */
  readonly onTerm?: (runs: boolean) => void;
}

export class Terms<T extends Term> {
  readonly #options: TermsOptions<T>;
  readonly #leadership: Leadership;
  #current: T | null = null;
  /** Former terms on their way out. */
  #ending: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: TermsOptions<T>) {
    this.#options = options;
    this.#leadership = options.leadership.join({
      onStartedLeading: () => this.#begin(),
      onStoppedLeading: () => this.#end(),
    });
  }

  /** null while another replica leads, and before the start. */
  get current(): T | null {
    return this.#current;
  }

  isLeader(): boolean {
    return this.#leadership.isLeader();
  }

  /** Writes while this replica leads, and at no other time. */
  storeOf(store: ClusterStore): ClusterStore {
    return leaderStore(store, this.#leadership, SCHEDULER_LEASE);
  }

  async start(): Promise<void> {
    await this.#leadership.start();
  }

  /** No term begins any more. @param conclude what is done last, still as the leader: only then may another replica begin */
  async stop(conclude: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    this.#stopped = true;
    this.#end();
    await this.#ending;
    await conclude();
    await this.#leadership.stop();
  }

  #begin(): void {
    this.#end();
    if (this.#stopped) return;
    this.#options.onTerm?.(true);
    this.#current = this.#options.begin();
  }

  #end(): void {
    this.#options.onTerm?.(false);
    const term = this.#current;
    this.#current = null;
    if (term !== null) this.#ending = Promise.all([this.#ending, term.stop()]);
  }
}
