// Users of several entries, each with a load of its own: those of a zone call the Service of their zone.
import { createInformer, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, Informer } from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { endpointsOf } from "../controllers/endpoints.ts";
import type { PodNetwork } from "../ports.ts";
import { LoadGenerator } from "./generator.ts";
import type { LoadPlan } from "./protocol.ts";

interface ZoneUsersOptions {
  readonly store: ClusterStore;
  readonly network: Pick<PodNetwork, "nodeAddress">;
  /** By name of the Service that users call. */
  readonly plans: ReadonlyMap<string, LoadPlan>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class ZoneUsers {
  readonly #network: ZoneUsersOptions["network"];
  readonly #pods: Informer;
  readonly #services: Informer;
  readonly #loads: ReadonlyMap<string, LoadGenerator>;
  readonly #clock: Clock;
  /** Of the last stretch. */
  #endMs: number | null = null;
  /** Users that have found their Service ready once. */
  readonly #begun = new Set<string>();

  constructor({ network, plans, ...around }: ZoneUsersOptions) {
    this.#network = network;
    this.#clock = around.clock;
    this.#pods = createInformer({ ...around, kind: KINDS.pod });
    this.#services = createInformer({ ...around, kind: KINDS.service });
    this.#loads = new Map(Array.from(plans, ([name, plan]) => [name, new LoadGenerator(plan, around.clock)]));
    for (const informer of [this.#pods, this.#services]) informer.onChange(() => this.#push());
  }

  /** Whether all users send. */
  get isBegun(): boolean {
    return this.#begun.size === this.#loads.size;
  }

  /** Users of a Service send so many times as rarely as their plan says. */
  setPace(service: string, factor: number): void {
    this.#loads.get(service)?.setPace(factor);
  }

  /**
   * Every request of so much time from now on, by Service: how long it took, ms; null: it failed. Answered
   * when all of them are. One at a time.
   */
  async stretch(durationMs: number): Promise<ReadonlyMap<string, readonly (number | null)[]>> {
    const nowMs = this.#clock.monotonic();
    // Generators go on where the last stretch ended.
    if (this.#endMs !== null) await this.#record(nowMs - this.#endMs);
    this.#endMs = nowMs + durationMs;
    return await this.#record(durationMs);
  }

  async #record(durationMs: number): Promise<Map<string, readonly (number | null)[]>> {
    return new Map(
      await Promise.all(
        Array.from(
          this.#loads,
          async ([name, load]) => [name, (await load.stretch(durationMs)).responseMs] as const,
        ),
      ),
    );
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#loads.values()].map((load) => load.stop()));
    await Promise.all([this.#pods.stop(), this.#services.stop()]);
  }

  #push(): void {
    for (const { service, endpoints } of endpointsOf(this.#services.items(), this.#pods.items())) {
      const load = this.#loads.get(service);
      if (load === undefined) continue;
      if (endpoints.length > 0) this.#begun.add(service);
      // Users reach their Service at its node's own address: the way there is no part of the network.
      load.setEndpoints(
        service,
        endpoints.map(({ node, port }) => ({ host: this.#network.nodeAddress(node), port })),
      );
    }
  }
}
