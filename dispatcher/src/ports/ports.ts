export type Policy = "deadline" | "least-request" | "learned";
export const LEARNED_FILE = "learned:";

/** Round trips from the dispatcher's node, and zones of nodes. */
export interface RoundTrips {
  readonly version: number;
  /** Milliseconds to a node; NaN if unknown, infinite if unreachable. */
  toNode(name: string): number;
  readonly ownZone: string | null;
}

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

export type Speech = "http1" | "http2" | "tls";

export type Outcome = "in_time" | "late" | "answered" | "failed" | "refused" | "abandoned";

export interface EndpointSliceView {
  /** IPv4, IPv6 or FQDN. */
  readonly family: string;
  readonly ports: ReadonlyMap<string, number>;
  readonly endpoints: readonly SliceEndpoint[];
}

export interface SliceEndpoint {
  readonly address: string;
  /** Name of its pod in the slice's namespace; null if absent. */
  readonly pod: string | null;
  readonly uid: string | null;
  readonly zone: string | null;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}
