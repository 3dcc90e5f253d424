export type Policy = "deadline" | "least-request" | "learned";
/** Prefix of a weights file's path in the setting. */
export const LEARNED_FILE = "learned:";

/** Round trips from the dispatcher's node, and zones of nodes. */
export interface RoundTrips {
  /** Increases with each change. */
  readonly version: number;
  /** Milliseconds to a node; NaN if unknown, infinite if unreachable. */
  toNode(name: string): number;
  /** Zone of the dispatcher's node; null if unknown. */
  readonly ownZone: string | null;
}

/** Responses made by the dispatcher, by reason. */
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

/** Protocol of a port's endpoints. */
export type Speech = "http1" | "http2" | "tls";

/** Outcome of a request. */
export type Outcome = "in_time" | "late" | "answered" | "failed" | "refused" | "abandoned";

export interface EndpointSliceView {
  /** IPv4, IPv6 or FQDN. */
  readonly family: string;
  /** By the name of the Service's port. */
  readonly ports: ReadonlyMap<string, number>;
  readonly endpoints: readonly SliceEndpoint[];
}

export interface SliceEndpoint {
  readonly address: string;
  /** Name of its pod in the slice's namespace; null if absent. */
  readonly pod: string | null;
  /** UID of the pod; null if absent. */
  readonly uid: string | null;
  readonly zone: string | null;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}
