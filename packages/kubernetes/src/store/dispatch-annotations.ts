import { looseFields } from "@isochrone/primitives";
import type { KubernetesObject, ServiceSpec } from "../kinds.ts";

/** How requests are routed: not at all, by EndpointSlice hints, or by an Istio DestinationRule. */
const DISPATCH_LEVERS = ["advise", "hints", "istio"] as const;
export type DispatchLever = (typeof DISPATCH_LEVERS)[number];

/** Lever of Services whose clients send requests to the dispatcher. */
const BY_DISPATCHER = "dispatcher";

export const DISPATCH_ANNOTATIONS = {
  /** Annotation of a Service: how to spread requests over zones: advise, hints, istio or dispatcher. */
  dispatch: "isochrone.dev/dispatch",
  /** Annotation of a Service: how to act on the replicas needed per zone: proposal, metric or scale. */
  replicas: "isochrone.dev/replicas",
  /** Annotation of a Service: deadline of a request, such as `250ms`. */
  deadline: "isochrone.dev/deadline",
  /**
   * Annotation of a Service: least share of a zone's requests that stays in the zone, 0 to 1.
   * @default 0.1
   */
  minLocalShare: "isochrone.dev/min-local-share",
  /**
   * Annotation of a Service: requests per second that one endpoint serves in time.
   * @default its even part plus a quarter
   */
  capacity: "isochrone.dev/capacity",
  /** Annotation of a Service: path at which an endpoint reports its load to the dispatcher. @default none */
  loadPath: "isochrone.dev/load-path",
} as const;

const DURATION = /^(\d+(?:\.\d+)?)(m?)s$/;
const MAX_DEADLINE_MS = 10_000;

/** Deadline in milliseconds, `1ms` to `10s`. Null: absent or invalid. */
export function deadlineOf(annotations: Readonly<Record<string, string>> | undefined): number | null {
  const [, number, milli] = DURATION.exec(annotations?.[DISPATCH_ANNOTATIONS.deadline] ?? "") ?? [];
  if (number === undefined) return null;
  const deadlineMs = Number(number) * (milli === "m" ? 1 : 1000);
  return deadlineMs >= 1 && deadlineMs <= MAX_DEADLINE_MS ? deadlineMs : null;
}

const DEFAULT_MIN_LOCAL_SHARE = 0.1;
const NUMBER = /^\d+(?:\.\d+)?$/;
const MAX_CAPACITY = 1e9;

interface DispatchOrder {
  readonly lever: DispatchLever;
  readonly minLocalShare: number;
  readonly capacityPerSecond: number | null;
}

export function isDispatched({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.[DISPATCH_ANNOTATIONS.dispatch] === BY_DISPATCHER;
}

/** How a Service wants requests routed. Null: not requested. A text: why it is invalid. */
export function dispatchOrderOf({ metadata }: KubernetesObject): DispatchOrder | string | null {
  const { dispatch, minLocalShare: least, capacity: most, deadline } = DISPATCH_ANNOTATIONS;
  const said = metadata.annotations ?? {};
  const lever = said[dispatch];
  if (lever === undefined || lever === BY_DISPATCHER) return null;
  const known = DISPATCH_LEVERS.find((each) => each === lever);
  if (known === undefined)
    return `${dispatch} must be one of ${[...DISPATCH_LEVERS, BY_DISPATCHER].join(", ")}, got ${lever}`;
  const minLocalShare = numberOf(said[least], 1) ?? DEFAULT_MIN_LOCAL_SHARE;
  if (Number.isNaN(minLocalShare)) return `${least} must be a number from 0 to 1, got ${said[least]}`;
  const capacityPerSecond = capacityOf(said[most]);
  if (typeof capacityPerSecond === "string") return capacityPerSecond;
  if (said[deadline] !== undefined && deadlineOf(said) === null)
    return `${deadline} must be 1ms to 10s, got ${said[deadline]}`;
  return { lever: known, minLocalShare, capacityPerSecond };
}

/** Replicas are proposed, exported to an autoscaler, or scaled. */
const REPLICA_MODES = ["proposal", "metric", "scale"] as const;
export type ReplicaMode = (typeof REPLICA_MODES)[number];

interface ReplicaOrder {
  readonly mode: ReplicaMode;
  readonly capacityPerSecond: number | null;
  readonly deadlineMs: number | null;
}

/** Replica mode of a Service. Null: absent or unknown. */
export function replicaModeOf({ metadata }: KubernetesObject): ReplicaMode | null {
  const said = metadata.annotations?.[DISPATCH_ANNOTATIONS.replicas];
  return REPLICA_MODES.find((each) => each === said) ?? null;
}

/** How a Service wants replicas managed. Null: not requested. A text: why it is invalid. */
export function replicaOrderOf(service: KubernetesObject): ReplicaOrder | string | null {
  const { replicas, capacity, deadline } = DISPATCH_ANNOTATIONS;
  const said = service.metadata.annotations ?? {};
  if (said[replicas] === undefined) return null;
  const mode = replicaModeOf(service);
  if (mode === null) return `${replicas} must be one of ${REPLICA_MODES.join(", ")}, got ${said[replicas]}`;
  const capacityPerSecond = capacityOf(said[capacity]);
  if (typeof capacityPerSecond === "string") return capacityPerSecond;
  if (said[deadline] !== undefined && deadlineOf(said) === null)
    return `${deadline} must be 1ms to 10s, got ${said[deadline]}`;
  return { mode, capacityPerSecond, deadlineMs: deadlineOf(said) };
}

function capacityOf(text: string | undefined): number | string | null {
  const perSecond = numberOf(text, MAX_CAPACITY);
  return Number.isNaN(perSecond) || perSecond === 0
    ? `${DISPATCH_ANNOTATIONS.capacity} must be a number above 0, got ${text}`
    : perSecond;
}

/** Parses a number. Null: absent. NaN: not from 0 to `most`. */
function numberOf(text: string | undefined, most: number): number | null {
  if (text === undefined) return null;
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  return value <= most ? value : Number.NaN;
}

/** Why routing can't choose among the Service's endpoints. Null: it can. */
export function unspreadReason({ spec }: KubernetesObject): string | null {
  const { clusterIP, type, internalTrafficPolicy } = looseFields<ServiceSpec>(spec);
  if (clusterIP === "None") return "it is headless: its clients choose among its endpoints";
  if (type === "ExternalName") return "it is a name for another host";
  if (internalTrafficPolicy === "Local")
    return "its internalTrafficPolicy is Local: no request leaves its node";
  return null;
}
