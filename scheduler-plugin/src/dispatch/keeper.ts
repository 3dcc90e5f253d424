// The leader's rounds. For each Service that asks for it: computes the best weights, moves one step towards
// them, and returns to Kubernetes' default when data is missing.
import { evenWeights, nextWeights, zoneAdvice, type ZoneWeights } from "@isochrone/dispatch/zones";
import { DISPATCH_ANNOTATIONS, isDispatched, keyOf, StoreError } from "@isochrone/kubernetes";
import type { EventRecorder, KubernetesObject } from "@isochrone/kubernetes";
import { periodic } from "@isochrone/runtime";
import type { Clock, Logger, Periodic } from "@isochrone/runtime";
import type { ServiceTraffic } from "@isochrone/topology";
import type { GraphSource } from "../ports/ports.ts";
import { yielded } from "../proposals/cluster-view.ts";
import type { DemandReader } from "./demand-reader.ts";
import {
  clusterZones,
  orderedService,
  type ClusterZones,
  type OrderedService,
  type Refusal,
} from "./objects/service-view.ts";
import { askedTraffic, sharesNow, spreadTraffic } from "./objects/service-traffic.ts";
import type { Lever, LeverTarget } from "./levers.ts";
import { SERVICE_STATES, type DispatchMetrics, type ServiceStateName } from "./metrics.ts";
import type { ServiceFollower } from "./service-follower.ts";

export type WritingLever = "hints" | "istio";

interface KeeperOptions {
  readonly follower: ServiceFollower;
  readonly demand: DemandReader;
  readonly graphs: GraphSource;
  readonly levers: ReadonlyMap<WritingLever, Lever>;
  readonly events: EventRecorder;
  readonly metrics: DispatchMetrics;
  readonly roundMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reasons that aren't faults: nothing to spread, or no endpoints. */
const IDLE: ReadonlySet<Refusal["reason"]> = new Set(["no_requests", "no_endpoints", "no_graph"]);

export class DispatchKeeper {
  readonly #options: KeeperOptions;
  readonly #rounds: Periodic;
  #told = new Map<string, string>();
  #traffic: readonly ServiceTraffic[] = [];

  constructor(options: KeeperOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#rounds = periodic({
      clock,
      intervalMs: options.roundMs,
      immediate: true,
      run: (signal) => this.#round(signal),
      onError: (error) => logger.warnOnce("dispatch", "zone weights can't be kept, trying again", { error }),
    });
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    this.#show([]);
  }

  traffic(): readonly ServiceTraffic[] {
    return this.#traffic;
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { follower, demand, levers, logger } = this.#options;
    try {
      await demand.refresh(signal);
    } catch (error) {
      logger.warnOnce("dispatch-demand", "the demand of zones can't be read", { error });
    }
    if (!follower.isSynced || signal.aborted) return;
    if (demand.isEmpty && !demand.isStale) return;
    const kept = await this.#serveAll(signal);
    if (kept === null) return;
    for (const [name, lever] of levers)
      await this.#written(name, () => lever.release(kept.get(name) ?? new Set()));
  }

  async #serveAll(signal: AbortSignal): Promise<ReadonlyMap<WritingLever, ReadonlySet<string>> | null> {
    const shown: Shown[] = [];
    const traffic: ServiceTraffic[] = [];
    const kept = new Map<WritingLever, Set<string>>();
    const told = new Map<string, string>();
    const zones = this.#zones();
    for (const service of this.#options.follower.services()) {
      const found = await this.#serve(service, zones, told);
      if (signal.aborted) return null;
      if (found === null) {
        if (isDispatched(service)) traffic.push(this.#dispatched(service));
        continue;
      }
      const { ordered, ...stands } = found;
      shown.push(stands);
      traffic.push(this.#trafficOf(service, ordered, stands, told));
      if (!stands.keeps || stands.lever === "advise" || stands.lever === "none") continue;
      const names = kept.get(stands.lever) ?? new Set();
      kept.set(stands.lever, names.add(keyOf(service)));
    }
    this.#told = told;
    this.#traffic = traffic;
    this.#show(shown);
    return kept;
  }

  #zones(): ClusterZones | null {
    const { graphs } = this.#options;
    const graph = graphs.cluster();
    return graph === null ? null : clusterZones(graph, graphs.clusterSnapshot?.()?.nodes ?? []);
  }

  async #serve(
    service: KubernetesObject,
    zones: ClusterZones | null,
    told: Map<string, string>,
  ): Promise<(Shown & { readonly ordered: OrderedService | null }) | null> {
    const { follower, demand } = this.#options;
    const { namespace = "default", name, annotations } = service.metadata;
    if (annotations?.[DISPATCH_ANNOTATIONS.dispatch] === undefined) return null;
    const slices = follower.slices(namespace, name);
    const ordered = orderedService({ service, slices, demand: demand.of(keyOf(service)), zones });
    if (ordered === null) return null;
    // Lets scoring requests run after each Service.
    await yielded();
    if ("reason" in ordered) return { ...this.#refused(service, "none", ordered, told), ordered: null };
    const regions: LeverTarget["regions"] = zones?.regions ?? new Map();
    const stands = await this.#spread(ordered, { service, slices, regions }, told);
    return { ...stands, ordered };
  }

  async #spread(ordered: OrderedService, target: LeverTarget, told: Map<string, string>): Promise<Shown> {
    const { demand, levers } = this.#options;
    const { lever } = ordered;
    const { service } = target;
    if (demand.isStale) {
      const message = "the demand of zones is stale: Kubernetes' own spreading is back";
      this.#tell(service, told, lever !== "advise", "ZoneWeightsTakenBack", message);
      return { lever, state: "stale", keeps: false };
    }
    const pulled = lever === "advise" ? null : (levers.get(lever) ?? null);
    if (lever !== "advise" && pulled === null) {
      const message = `the lever ${lever} is off: dispatch.levers`;
      return this.#refused(service, lever, { reason: "lever_off", message }, told);
    }
    return await this.#step(ordered, target, pulled, told);
  }

  async #step(
    { lever, view, endpoints }: OrderedService,
    target: LeverTarget,
    pulled: Lever | null,
    told: Map<string, string>,
  ): Promise<Shown> {
    const { service } = target;
    const zones = [...new Set([...view.zones, ...endpoints.map(({ zone }) => zone)])];
    const obstacle = pulled?.obstacle(target, zones) ?? null;
    if (obstacle !== null) return this.#refused(service, lever, obstacle, told);
    const advice = zoneAdvice(view);
    if ("reason" in advice) return this.#refused(service, lever, advice, told);
    if (pulled === null) return { lever, state: "steady", keeps: false };
    const current: ZoneWeights = pulled.current(target) ?? evenWeights(view);
    const { weights, changed } = nextWeights(current, advice.weights);
    let refusal: Refusal | null = null;
    const done = await this.#written(lever, async () => {
      refusal = await pulled.pull(target, { weights, demand: view.demand }, changed);
    });
    if (refusal !== null) return { ...this.#refused(service, lever, refusal, told), keeps: true };
    return { lever, state: changed || !done ? "moving" : "steady", keeps: true };
  }

  #trafficOf(
    service: KubernetesObject,
    ordered: OrderedService | null,
    { lever, state }: Shown,
    told: ReadonlyMap<string, string>,
  ): ServiceTraffic {
    const { follower, demand, levers } = this.#options;
    const { namespace = "default", name } = service.metadata;
    const asked = demand.of(keyOf(service));
    const head = { namespace, name, lever, state, message: told.get(keyOf(service)) ?? null };
    if (ordered === null) return { ...head, ...askedTraffic(asked) };
    const slices = follower.slices(namespace, name);
    const written =
      lever === "istio"
        ? (levers.get(lever)?.current({ service, slices, regions: new Map() }) ?? null)
        : null;
    const standing = written ?? sharesNow(ordered.view, ordered.endpoints, slices);
    return { ...head, ...spreadTraffic(ordered, standing, asked) };
  }

  /** A Service whose requests are spread without weights. */
  #dispatched(service: KubernetesObject): ServiceTraffic {
    const { namespace = "default", name } = service.metadata;
    const head = { namespace, name, lever: "dispatcher", state: null, message: null };
    return { ...head, ...askedTraffic(this.#options.demand.of(keyOf(service))) };
  }

  #refused(
    service: KubernetesObject,
    lever: Shown["lever"],
    { reason, message }: Refusal,
    told: Map<string, string>,
  ): Shown {
    // Without demand the existing weights stay.
    if (IDLE.has(reason)) return { lever, state: "idle", keeps: true };
    this.#tell(service, told, lever !== "advise", "ZoneWeightsRefused", message);
    return { lever, state: "refused", keeps: false };
  }

  /** Reports once: as an Event, unless writing is off. */
  #tell(
    service: KubernetesObject,
    told: Map<string, string>,
    isEvent: boolean,
    reason: string,
    note: string,
  ): void {
    const { events, logger } = this.#options;
    const key = keyOf(service);
    told.set(key, note);
    if (this.#told.get(key) === note) return;
    logger.warn("no zone weights for a Service", { service: key, reason, note });
    if (isEvent) events.event(service, { type: "Warning", reason, action: "SpreadRequests", note });
  }

  async #written(lever: WritingLever | "advise", write: () => Promise<void>): Promise<boolean> {
    const { metrics, logger } = this.#options;
    try {
      await write();
      metrics.writes.inc({ lever, result: "done" });
      return true;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      metrics.writes.inc({ lever, result: "failed" });
      logger.warnOnce(`dispatch-${lever}`, "zone weights can't be written, trying again", { error });
      return false;
    }
  }

  #show(shown: readonly Shown[]): void {
    const { services } = this.#options.metrics;
    for (const lever of ["advise", "hints", "istio", "none"] as const)
      for (const state of SERVICE_STATES)
        services.set(
          { lever, state },
          shown.filter((each) => each.lever === lever && each.state === state).length,
        );
  }
}

interface Shown {
  readonly lever: "advise" | WritingLever | "none";
  readonly state: ServiceStateName;
  readonly keeps: boolean;
}
