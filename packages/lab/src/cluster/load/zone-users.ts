// Users by zone, each with their own load on their zone's Service.
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
  #endMs: number | null = null;
  readonly #begun = new Set<string>();

  constructor({ network, plans, ...around }: ZoneUsersOptions) {
    this.#network = network;
    this.#clock = around.clock;
    this.#pods = createInformer({ ...around, kind: KINDS.pod });
    this.#services = createInformer({ ...around, kind: KINDS.service });
    this.#loads = new Map(Array.from(plans, ([name, plan]) => [name, new LoadGenerator(plan, around.clock)]));
    for (const informer of [this.#pods, this.#services]) informer.onChange(() => this.#push());
  }

  get isBegun(): boolean {
    return this.#begun.size === this.#loads.size;
  }

  setPace(service: string, factor: number): void {
    this.#loads.get(service)?.setPace(factor);
  }

  /** Latency (ms; null: failed) of requests from now on, by Service. Waits for all. One call at a time. */
  async stretch(durationMs: number): Promise<ReadonlyMap<string, readonly (number | null)[]>> {
    const nowMs = this.#clock.monotonic();
    // Generators continue where the last period ended.
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
      // Users reach their Service at its node's own address: their path isn't emulated.
      load.setEndpoints(
        service,
        endpoints.map(({ node, port }) => ({ host: this.#network.nodeAddress(node), port })),
      );
    }
  }
}
