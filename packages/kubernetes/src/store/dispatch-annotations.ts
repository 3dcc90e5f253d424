// What the annotations of a Service say of how its requests are spread.
import { looseFields } from "@isochrone/primitives";
import type { KubernetesObject, ServiceSpec } from "../kinds.ts";

/** By what requests are spread: by nothing, by hints of EndpointSlices, or by a DestinationRule of Istio. */
const DISPATCH_LEVERS = ["advise", "hints", "istio"] as const;
export type DispatchLever = (typeof DISPATCH_LEVERS)[number];

/** By the dispatcher, which writes nothing: clients send it their requests. */
const BY_DISPATCHER = "dispatcher";

/** Annotations of a Service. */
export const DISPATCH_ANNOTATIONS = {
  /** By what requests are to be spread over zones: advise, hints, istio or dispatcher. */
  dispatch: "isochrone.dev/dispatch",
  /** What is done about how many replicas each zone needs: proposal, metric or scale. */
  replicas: "isochrone.dev/replicas",
  /** How long a request may take, such as `250ms`. */
  deadline: "isochrone.dev/deadline",
  /** The least share of a zone's requests that stays in the zone, 0 to 1. @default 0.1 */
  minLocalShare: "isochrone.dev/min-local-share",
  /** Requests per second that one endpoint serves in time. @default a quarter more than its even part */
  capacity: "isochrone.dev/capacity",
  /** Path at which an endpoint says its load, for the dispatcher. @default it is not asked */
  loadPath: "isochrone.dev/load-path",
} as const;

const DURATION = /^(\d+(?:\.\d+)?)(m?)s$/;
/** Longer ones are beyond what latencies are counted to. */
const MAX_DEADLINE_MS = 10_000;

/**
 * The deadline that an annotation sets, milliseconds; null: none, or one that can't be. It must be `1ms` to
 * `10s`.
 */
export function deadlineOf(annotations: Readonly<Record<string, string>> | undefined): number | null {
  const [, number, milli] = DURATION.exec(annotations?.[DISPATCH_ANNOTATIONS.deadline] ?? "") ?? [];
  if (number === undefined) return null;
  const deadlineMs = Number(number) * (milli === "m" ? 1 : 1000);
  return deadlineMs >= 1 && deadlineMs <= MAX_DEADLINE_MS ? deadlineMs : null;
}

const DEFAULT_MIN_LOCAL_SHARE = 0.1;
const NUMBER = /^\d+(?:\.\d+)?$/;
const MAX_CAPACITY = 1e9;

/** How a Service wants its requests spread. */
interface DispatchOrder {
  readonly lever: DispatchLever;
  readonly minLocalShare: number;
  /** Requests per second of one endpoint; null: nobody said. */
  readonly capacityPerSecond: number | null;
}

/** Whether the Service's requests may be sent by the dispatcher. */
export function isDispatched({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.[DISPATCH_ANNOTATIONS.dispatch] === BY_DISPATCHER;
}

/** Null for a Service that asks for no weights; a text for one whose annotations can't be. */
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

/** What is done about replicas: they are proposed, told to an autoscaler, or scaled. */
const REPLICA_MODES = ["proposal", "metric", "scale"] as const;
export type ReplicaMode = (typeof REPLICA_MODES)[number];

/** How a Service wants its replicas looked after. */
interface ReplicaOrder {
  readonly mode: ReplicaMode;
  /** Requests per second of one replica; null: nobody said. */
  readonly capacityPerSecond: number | null;
  readonly deadlineMs: number | null;
}

/** Null for a Service that asks for nothing, or for something that isn't known. */
export function replicaModeOf({ metadata }: KubernetesObject): ReplicaMode | null {
  const said = metadata.annotations?.[DISPATCH_ANNOTATIONS.replicas];
  return REPLICA_MODES.find((each) => each === said) ?? null;
}

/** Null for a Service that asks for nothing; a text for one whose annotations can't be. */
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

/** Null where nothing is said; NaN for what is no number from 0 to `most`. */
function numberOf(text: string | undefined, most: number): number | null {
  if (text === undefined) return null;
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  return value <= most ? value : Number.NaN;
}

/** Why nobody chooses among the endpoints of a Service; null: somebody does. */
export function unspreadReason({ spec }: KubernetesObject): string | null {
  const { clusterIP, type, internalTrafficPolicy } = looseFields<ServiceSpec>(spec);
  if (clusterIP === "None") return "it is headless: its clients choose among its endpoints";
  if (type === "ExternalName") return "it is a name for another host";
  if (internalTrafficPolicy === "Local")
    return "its internalTrafficPolicy is Local: no request leaves its node";
  return null;
}
