/** How endpoints are chosen. */
export type Policy = "deadline" | "least-request" | "learned";
/** In the setting, before the path of a weights file. */
export const LEARNED_FILE = "learned:";

/** Round trips from the dispatcher's node, and the zone of nodes. */
export interface RoundTrips {
  /** Grows with each change of what it says. */
  readonly version: number;
  /** Milliseconds to a node; NaN: nobody knows, infinite: nothing arrives. */
  toNode(name: string): number;
  /** Of the dispatcher's own node; null: unknown. */
  readonly ownZone: string | null;
}

/** Answers that the dispatcher makes itself, by reason. */
export const REFUSALS = {
  bad_request: { status: 400, grpc: 13 },
  unknown_service: { status: 404, grpc: 12 },
  method: { status: 405, grpc: 12 },
  upgrade: { status: 501, grpc: 12 },
  tls: { status: 501, grpc: 12 },
  loop: { status: 508, grpc: 13 },
  starting: { status: 503, grpc: 14 },
  no_endpoints: { status: 503, grpc: 14 },
  unreachable: { status: 503, grpc: 14 },
  broken_off: { status: 502, grpc: 14 },
  overloaded: { status: 503, grpc: 14 },
  draining: { status: 503, grpc: 14 },
  deadline: { status: 504, grpc: 4 },
} as const;
export type RefusalReason = keyof typeof REFUSALS;

/** What the endpoints of a port speak. */
export type Speech = "http1" | "http2" | "tls";

/** What becomes of a request. */
export type Outcome = "in_time" | "late" | "answered" | "failed" | "refused" | "abandoned";

/** What is read of an EndpointSlice. */
export interface EndpointSliceView {
  /** IPv4, IPv6 or FQDN. */
  readonly family: string;
  /** By the name of the Service's port. */
  readonly ports: ReadonlyMap<string, number>;
  readonly endpoints: readonly SliceEndpoint[];
}

export interface SliceEndpoint {
  readonly address: string;
  /** Name of its pod, in the slice's namespace; null: the slice names none. */
  readonly pod: string | null;
  /** Uid of the pod; null: the slice names none. */
  readonly uid: string | null;
  readonly zone: string | null;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}
