import type { ClusterStore, EventRecorder, SharedLeadership } from "@isochrone/kubernetes";
import type { Clock, Logger, Part, Random } from "@isochrone/runtime";
import type { Demand, ReplicaReport, ServiceTraffic } from "@isochrone/topology";
import type { Registry } from "prom-client";
import type { ClusterPods } from "../adapters/cluster-pods.ts";
import { countedEvents } from "../adapters/counted-events.ts";
import { Terms } from "../leadership/terms.ts";
import type { GraphSource } from "../ports/ports.ts";
import { DemandReader } from "./demand-reader.ts";
import { DispatchKeeper, type WritingLever } from "./keeper.ts";
import { HintsLever, IstioLever, type Lever } from "./levers.ts";
import { createDispatchMetrics } from "./metrics.ts";
import { Autoscalers } from "./replicas/autoscalers.ts";
import { ReplicaFrames, type FramesOptions } from "./replicas/frames.ts";
import { createReplicaMetrics } from "./replicas/metrics.ts";
import { NodeImages } from "./replicas/node-images.ts";
import { ReplicaScaler } from "./replicas/scaler.ts";
import { ServiceFollower } from "./service-follower.ts";
import type { DispatchConfig } from "./settings.ts";
import { SliceAdmission } from "./slice-admission.ts";

export interface DispatchDeps {
  readonly store: ClusterStore;
  readonly graphs: GraphSource;
  readonly readDemand: (signal?: AbortSignal) => Promise<Demand>;
  readonly leadership: SharedLeadership;
  readonly pods: Pick<ClusterPods, "items" | "isSynced">;
  readonly least: FramesOptions["least"];
  readonly wishes: FramesOptions["wishes"];
  readonly replica: string | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** Spreads requests while this replica leads. Answers about EndpointSlices at any time. */
export interface Dispatch {
  readonly parts: readonly Part[];
  readonly slices: SliceAdmission | null;
  readonly replicas: (() => ReplicaReport) | null;
  /** Services that request zone weights; null while another replica leads. */
  traffic(): readonly ServiceTraffic[] | null;
}

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
  const replicas = createReplicas(config, {
    ...deps,
    store,
    follower,
    events,
    leads: () => terms.isLeader(),
  });
  return {
    parts: [
      { name: "Events", service: events },
      { name: "Services", service: follower },
      { name: "terms", service: terms },
      ...(replicas?.parts ?? []),
    ],
    slices: levers.includes("hints") ? new SliceAdmission(follower, metrics) : null,
    replicas: replicas === null ? null : () => replicas.frames.report(),
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

interface ReplicaDeps extends DispatchDeps {
  readonly follower: ServiceFollower;
  readonly events: EventRecorder;
  readonly leads: () => boolean;
}

function createReplicas(
  config: DispatchConfig,
  deps: ReplicaDeps,
): { readonly frames: ReplicaFrames; readonly parts: readonly Part[] } | null {
  const { levers, changes, coolDownMs, surplusMs, roundMs: frameMs } = config;
  if (!levers.includes("replicas")) return null;
  const metrics = createReplicaMetrics(deps.registry);
  const images = new NodeImages(deps);
  const autoscalers = levers.includes("scale") ? new Autoscalers(deps) : null;
  const scaler = new ReplicaScaler({
    ...deps,
    ...deps.least,
    autoscalers,
    mayMark: levers.includes("deletion-cost"),
    changes,
    coolDownMs,
    metrics,
  });
  const demand = new DemandReader(deps.readDemand, deps.clock);
  const frames = new ReplicaFrames({ ...deps, demand, images, scaler, metrics, frameMs, changes, surplusMs });
  return {
    frames,
    parts: [
      { name: "images", service: images },
      { name: "autoscalers", service: autoscalers },
      { name: "frames", service: frames },
    ],
  };
}
