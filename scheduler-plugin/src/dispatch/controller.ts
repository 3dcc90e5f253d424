import type { ClusterStore, SharedLeadership } from "@isochrone/kubernetes";
import type { Clock, Logger, Part, Random } from "@isochrone/runtime";
import type { Demand, ServiceTraffic } from "@isochrone/topology";
import type { Registry } from "prom-client";
import { countedEvents } from "../adapters/counted-events.ts";
import { Terms } from "../leadership/terms.ts";
import type { GraphSource } from "../ports/ports.ts";
import { DemandReader } from "./demand-reader.ts";
import { DispatchKeeper, type WritingLever } from "./keeper.ts";
import { HintsLever, IstioLever, type Lever } from "./levers.ts";
import { createDispatchMetrics } from "./metrics.ts";
import { ServiceFollower } from "./service-follower.ts";
import type { DispatchConfig } from "./settings.ts";
import { SliceAdmission } from "./slice-admission.ts";

export interface DispatchDeps {
  readonly store: ClusterStore;
  readonly graphs: GraphSource;
  /** Reads what zones ask of Services. */
  readonly readDemand: (signal?: AbortSignal) => Promise<Demand>;
  readonly leadership: SharedLeadership;
  /** Name of this replica; null: it is the only one. */
  readonly replica: string | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** Spreads requests while this replica leads, and answers about EndpointSlices whether it does or not. */
export interface Dispatch {
  readonly parts: readonly Part[];
  /** Null where hints are no lever. */
  readonly slices: SliceAdmission | null;
  /** Services that ask for zone weights; null while another replica leads. */
  traffic(): readonly ServiceTraffic[] | null;
}

/** Null where no lever may be pulled: then the command advises. */
export function createDispatch(config: DispatchConfig, deps: DispatchDeps): Dispatch | null {
  const { levers } = config;
  if (levers.length === 0) return null;
  const metrics = createDispatchMetrics(deps.registry);
  const events = countedEvents({ ...deps, metrics });
  const follower = new ServiceFollower({ ...deps, followsRules: levers.includes("istio") });
  const terms: Terms<DispatchKeeper> = new Terms({
    leadership: deps.leadership,
    begin: () =>
      new DispatchKeeper({
        ...deps,
        follower,
        demand: new DemandReader(deps.readDemand, deps.clock),
        levers: leversOf(config, store, follower),
        events,
        metrics,
        roundMs: config.roundMs,
      }),
  });
  const store = terms.storeOf(deps.store);
  return {
    parts: [
      { name: "Events", service: events },
      { name: "Services", service: follower },
      { name: "terms", service: terms },
    ],
    slices: levers.includes("hints") ? new SliceAdmission(follower, metrics) : null,
    traffic: () => terms.current?.traffic() ?? null,
  };
}

function leversOf(
  { levers }: DispatchConfig,
  store: ClusterStore,
  follower: ServiceFollower,
): ReadonlyMap<WritingLever, Lever> {
  const found = new Map<WritingLever, Lever>();
  if (levers.includes("hints")) found.set("hints", new HintsLever(store, follower));
  if (levers.includes("istio")) found.set("istio", new IstioLever(store, follower));
  return found;
}
