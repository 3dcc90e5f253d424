import type { ClusterStore, Informer } from "@isochrone/kubernetes";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { admittingSlices } from "../discovery/admitted-slices.ts";
import { EndpointSliceController } from "../discovery/endpoint-slices.ts";
import type { Site } from "../ports.ts";
import type { ExtenderConfig } from "../scheduler/extender.ts";
import { Scheduler } from "../scheduler/scheduler.ts";
import type { Placement } from "../scheduler/scheduler.ts";
import { DeploymentController } from "./deployments.ts";

interface StandInOptions {
  readonly store: ClusterStore;
  readonly sites: readonly Site[];
  readonly placement?: Placement;
  readonly extender?: ExtenderConfig;
  readonly slices?: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class StandIn {
  readonly #deployments: DeploymentController;
  readonly #scheduler: Scheduler;
  readonly #slices: EndpointSliceController | null;

  constructor(
    { placement = "score", extender, sites, slices, ...around }: StandInOptions,
    informers: Readonly<Record<"pods" | "services" | "nodes" | "deployments" | "replicaSets", Informer>>,
  ) {
    const { pods, services, nodes, deployments, replicaSets } = informers;
    this.#scheduler = new Scheduler({ ...around, pods, nodes, placement });
    if (extender !== undefined) this.#scheduler.setExtender(extender);
    this.#deployments = new DeploymentController({ ...around, informers: [deployments, replicaSets, pods] });
    const zones = new Map(sites.map(({ name, zone }) => [name, zone]));
    const zoneOf = (node: string): string => zones.get(node) ?? "";
    const store = admittingSlices(around.store, around);
    this.#slices =
      slices === true ? new EndpointSliceController({ ...around, store, services, pods, zoneOf }) : null;
  }

  start(): void {
    this.#deployments.start();
    this.#scheduler.start();
    this.#slices?.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#scheduler.stop(), this.#deployments.stop(), this.#slices?.stop()]);
  }

  setExtender(config: ExtenderConfig | null): void {
    this.#scheduler.setExtender(config);
  }
}
