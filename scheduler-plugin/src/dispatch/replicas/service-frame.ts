import {
  expectedRate,
  isWorthItsImage,
  rateAfter,
  type KnownRate,
  type WantedReplicas,
} from "@isochrone/dispatch/replicas";
import { readyEndpoints, replicaOrderOf, workloadOf } from "@isochrone/kubernetes";
import type { KubernetesObject, ReplicaMode } from "@isochrone/kubernetes";
import type { ServiceDemand } from "@isochrone/topology";
import type { ClusterRoom, ReplicaRoom } from "./cluster-room.ts";
import type { FrameRow } from "./frame-messages.ts";
import type { FramePods } from "./frame-pods.ts";
import { nodeOf, type Workload } from "./workload-pods.ts";

export interface ReplicaRefusal {
  readonly reason:
    | "annotation"
    | "no_capacity"
    | "no_graph"
    | "no_zones"
    | "zone_case"
    | "missing_zone"
    | "no_endpoints"
    | "no_requests"
    | "several_workloads"
    | "other_controller"
    | "not_a_deployment"
    | "lever_off"
    | "stale";
  readonly message: string;
}

export interface FrameZones {
  readonly names: readonly string[];
  readonly indexOf: ReadonlyMap<string, number>;
  /** Keyed by node. null: node without a zone. Absent: not in the graph yet. */
  readonly ofNode: ReadonlyMap<string, string | null>;
  readonly rttMs: (from: number, to: number) => number;
}

export interface KnownService {
  readonly rates: Map<string, KnownRate>;
  /** Keyed by zone: start of the current surplus, monotonic ms. */
  readonly surplusSinceMs: Map<string, number>;
}

interface FrameInput {
  readonly service: KubernetesObject;
  readonly slices: readonly KubernetesObject[];
  readonly demand: ServiceDemand | null;
  readonly known: KnownService;
  readonly pods: FramePods;
  readonly room: ClusterRoom;
  readonly zones: FrameZones | null;
  /** True if rates are recounted; else the previous frame's rates stay. */
  readonly isNews: boolean;
  readonly windowSeconds: number;
  readonly surplusMs: number;
  readonly nowMs: number;
}

export interface WantedChange {
  readonly kind: "add" | "remove";
  readonly zone: string;
  readonly perSecond: number;
  readonly memoryBytes: number | null;
  readonly reason: string;
}

interface FrameZone {
  readonly zone: string;
  readonly requestsPerSecond: number;
  readonly forecastPerSecond: number;
  readonly replicas: number;
  readonly wanted: number;
  readonly inTimeRatio: number | null;
  readonly reason: string | null;
}

export interface ServiceFrame {
  readonly mode: ReplicaMode;
  readonly capacityPerSecond: number;
  readonly workload: Workload;
  readonly pods: readonly KubernetesObject[];
  readonly ready: ReadonlySet<string>;
  readonly zoneOf: ReadonlyMap<string, string>;
  readonly zones: readonly FrameZone[];
  /** Without changes that pending pods already cover. */
  readonly changes: readonly WantedChange[];
  readonly unwanted: number;
}

export interface ServiceAsk {
  readonly row: FrameRow;
  readonly input: FrameInput;
  readonly mode: ReplicaMode;
  readonly zones: FrameZones;
  readonly served: Served;
  readonly placed: Placed;
  readonly asked: readonly number[];
  readonly room: ReplicaRoom;
}

export function serviceAsk(input: FrameInput): ServiceAsk | ReplicaRefusal | null {
  const order = replicaOrderOf(input.service);
  if (order === null) return null;
  if (typeof order === "string") return { reason: "annotation", message: order };
  const { mode, capacityPerSecond, deadlineMs } = order;
  if (capacityPerSecond === null)
    return {
      reason: "no_capacity",
      message: "isochrone.dev/capacity must say how many requests per second one replica serves in time",
    };
  const { zones } = input;
  if (zones === null) return { reason: "no_graph", message: "no cluster graph was read yet" };
  if (zones.names.length === 0) return { reason: "no_zones", message: "no node names its zone" };
  const clash = alikeZones(input, zones);
  if (clash !== null) return clash;
  const served = servedBy(input);
  if ("reason" in served) return served;
  const placed = placedIn(served.pods, zones);
  if ("reason" in placed) return placed;
  const asked = askedIn(input, zones);
  if (asked.every((rate) => rate === 0) || input.demand === null)
    return { reason: "no_requests", message: "no request of a known zone was counted" };
  const room = input.room.for(served.pods[0]!);
  const row = {
    perSecond: expectedIn(input, zones, asked),
    replicas: placed.counts,
    isOpen: zones.names.map((zone) => room.isOpen(zone)),
    capacityPerSecond,
    deadlineMs,
  };
  return { row, input, mode, zones, served, placed, asked, room };
}

export function serviceFrame(ask: ServiceAsk, wants: WantedReplicas): ServiceFrame {
  const { mode, row, served, placed } = ask;
  const adds = addsOf(ask, wants);
  const removes = removesOf(ask, wants);
  return {
    mode,
    capacityPerSecond: row.capacityPerSecond,
    workload: served.workload,
    pods: served.pods,
    ready: served.ready,
    zoneOf: placed.zoneOf,
    zones: zonesOf(ask, wants, [...adds, ...removes]),
    // Pending pods will cover the first additions.
    changes: [...adds.slice(placed.pending), ...removes],
    unwanted: Math.max(0, placed.pending - adds.length),
  };
}

/** Two zones with alike names: requests would be counted for one and served by the other. */
function alikeZones({ demand }: FrameInput, { names }: FrameZones): ReplicaRefusal | null {
  const byLower = new Map<string, string>();
  const all = [...names, ...(demand?.zones ?? []).flatMap(({ zone }) => (zone === null ? [] : [zone]))];
  for (const zone of new Set(all)) {
    const other = byLower.get(zone.toLowerCase());
    if (other !== undefined)
      return { reason: "zone_case", message: `zones ${other} and ${zone} differ in case alone` };
    byLower.set(zone.toLowerCase(), zone);
  }
  return null;
}

interface Served {
  readonly workload: Workload;
  readonly pods: readonly KubernetesObject[];
  readonly ready: ReadonlySet<string>;
}

function servedBy({ service, slices, pods }: FrameInput): Served | ReplicaRefusal {
  const { namespace = "default" } = service.metadata;
  const ready = new Set<string>();
  const workloads = new Map<string, Workload>();
  for (const slice of slices)
    for (const { pod: name } of readyEndpoints(slice)) {
      const pod = name === null ? null : pods.get(namespace, name);
      if (pod === null || name === null) continue;
      ready.add(name);
      const workload = workloadOf(pod);
      workloads.set(`${workload.kind} ${workload.name}`, workload);
    }
  const [workload] = workloads.values();
  if (workload === undefined)
    return { reason: "no_endpoints", message: "there is no ready endpoint with a pod" };
  if (workloads.size > 1)
    return {
      reason: "several_workloads",
      message: `its endpoints are pods of ${[...workloads.keys()].join(" and ")}: nobody can say which should have more`,
    };
  return { workload, pods: pods.of(workload), ready };
}

interface Placed {
  readonly counts: readonly number[];
  readonly pending: number;
  readonly zoneOf: ReadonlyMap<string, string>;
}

function placedIn(
  pods: readonly KubernetesObject[],
  { names, indexOf, ofNode }: FrameZones,
): Placed | ReplicaRefusal {
  const counts = names.map(() => 0);
  const zoneOf = new Map<string, string>();
  let pending = 0;
  for (const pod of pods) {
    const node = nodeOf(pod);
    const zone = node === null ? undefined : ofNode.get(node);
    if (zone === undefined) {
      pending++;
      continue;
    }
    if (zone === null)
      return {
        reason: "missing_zone",
        message: `node ${node}, on which a replica runs, has no label topology.kubernetes.io/zone`,
      };
    counts[indexOf.get(zone)!]!++;
    zoneOf.set(pod.metadata.name, zone);
  }
  return { counts, pending, zoneOf };
}

/** Drops callers without a zone, or with a zone without nodes: no replica can be placed for them. */
function askedIn({ demand }: FrameInput, { names, indexOf }: FrameZones): number[] {
  const asked = names.map(() => 0);
  for (const { zone, requestsPerSecond } of demand?.zones ?? []) {
    const at = indexOf.get(zone ?? "");
    if (at !== undefined) asked[at]! += requestsPerSecond;
  }
  return asked;
}

function expectedIn(
  { known, isNews, windowSeconds }: FrameInput,
  { names }: FrameZones,
  asked: readonly number[],
): number[] {
  const { rates } = known;
  return names.map((zone, at) => {
    const before = rates.get(zone) ?? null;
    if (before === null && asked[at] === 0) return 0;
    const rate = before === null || isNews ? rateAfter(before, asked[at]!, windowSeconds) : before;
    rates.set(zone, rate);
    return expectedRate(rate);
  });
}

function addsOf({ room, row, zones }: ServiceAsk, { adds }: WantedReplicas): WantedChange[] {
  const { memoryBytes } = room;
  const imageMb = room.imageMb();
  return adds.flatMap(({ zone: at, perSecond }): WantedChange[] => {
    const zone = zones.names[at]!;
    if (!isWorthItsImage(perSecond, imageMb) && room.pulls(zone)) return [];
    const reason = `${amount(perSecond)} requests/s more in time, of ${amount(row.perSecond[at]!)} expected`;
    return [{ kind: "add", zone, perSecond, memoryBytes, reason }];
  });
}

function removesOf(
  { input, zones: { names }, room }: ServiceAsk,
  { removes }: WantedReplicas,
): WantedChange[] {
  const { known, surplusMs, nowMs } = input;
  const { surplusSinceMs } = known;
  const zones = new Set(removes.map(({ zone }) => names[zone]!));
  for (const zone of surplusSinceMs.keys()) if (!zones.has(zone)) surplusSinceMs.delete(zone);
  return removes.flatMap(({ zone: at, perSecond }): WantedChange[] => {
    const zone = names[at]!;
    const sinceMs = surplusSinceMs.get(zone) ?? nowMs;
    surplusSinceMs.set(zone, sinceMs);
    if (nowMs - sinceMs < surplusMs) return [];
    const reason = `without it ${amount(perSecond)} requests/s fewer are in time`;
    return [{ kind: "remove", zone, perSecond, memoryBytes: room.memoryBytes, reason }];
  });
}

function zonesOf(
  { zones, asked, placed: { counts }, row: { perSecond: expected } }: ServiceAsk,
  wants: WantedReplicas,
  changes: readonly WantedChange[],
): FrameZone[] {
  return zones.names.flatMap((zone, at): FrameZone[] => {
    const own = changes.filter((change) => change.zone === zone);
    const wanted = own.reduce((sum, { kind }) => sum + (kind === "add" ? 1 : -1), counts[at]!);
    if (counts[at] === 0 && expected[at] === 0 && wanted === 0) return [];
    const best = wants.wanted[at]!;
    const waits =
      best === wanted
        ? null
        : best < wanted
          ? `${best} would do, but not for long enough yet`
          : `${best} would be better, but the gain isn't worth the image`;
    return [
      {
        zone,
        requestsPerSecond: asked[at]!,
        forecastPerSecond: expected[at]!,
        replicas: counts[at]!,
        wanted,
        inTimeRatio: wants.inTimeRatio[at]!,
        reason: own[0]?.reason ?? waits,
      },
    ];
  });
}

function amount(perSecond: number): string {
  return perSecond.toFixed(perSecond < 10 ? 2 : 0);
}
