import type { BandwidthResult, ExponentialHistogramData, Method, Outcome } from "@isochrone/telemetry";

/** A node to measure. `address` may be translated; packets are bound to `identity`, its own address. */
export interface ProbePeer {
  readonly node: string;
  readonly zone: string | null;
  readonly region: string | null;
  readonly address: string;
  readonly identity: string;
  readonly udpPort: number;
  readonly tcpPort: number;
  readonly bandwidthPort: number | null;
}

export interface ProbePlan {
  readonly version: string;
  readonly node: string;
  readonly identity: string;
  readonly zone: string | null;
  readonly region: string | null;
  /** The key to sign with. Null: use the settings. */
  readonly signingKeyId: number | null;
  readonly peers: readonly ProbePeer[];
}

export const PLAN_REFUSALS = [
  "not_an_object",
  "bad_field",
  "wrong_node",
  "too_many_peers",
  "bad_node_name",
  "self_peer",
  "duplicate_node",
  "bad_address",
  "bad_port",
  "duplicate_identity",
  "duplicate_target",
] as const;
export type PlanRefusal = (typeof PLAN_REFUSALS)[number];

export type PlanAnswer =
  | { readonly kind: "unchanged" }
  /** `body` is unvalidated JSON. */
  | { readonly kind: "plan"; readonly body: unknown; readonly etag: string | null };

/** Held keys and the signing one; 0: packets are not authenticated. */
export interface ProbeKeyState {
  readonly heldKeyIds: readonly number[];
  readonly signingKeyId: number;
}

export interface PlanSource {
  /** `etag`: last accepted plan; `self`: key state, for rotations. Rejects with ProbeError if unreadable. */
  fetch(etag: string | null, self: ProbeKeyState, signal: AbortSignal): Promise<PlanAnswer>;
}

/**
 * Reasons for discarding an answer's round-trip time (the first three) or a planned send: the thread was too
 * slow, the previous transaction had not ended, or the connection was opening.
 */
const DISCARD_REASONS = [
  "warmup",
  "thread_stalled",
  "bad_residence",
  "missed_tick",
  "still_waiting",
  "connecting",
] as const;
export type DiscardReason = (typeof DISCARD_REASONS)[number];

export interface PacketKey {
  readonly id: number;
  readonly secret: Uint8Array;
}

/** ICMP senders, best first; `auto` takes the first that works. */
export const ICMP_PROBERS = ["kernel", "net_ping"] as const;
export type IcmpProberName = (typeof ICMP_PROBERS)[number];

/** An engine's settings; structured-cloneable. */
export interface EngineConfig {
  readonly node: string;
  readonly identity: string;
  readonly bindAddress: string;
  readonly udpPort: number;
  readonly tcpPort: number;
  readonly methods: readonly Method[];
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly publishIntervalMs: number;
  readonly warmupPackets: number;
  readonly packetBytes: number;
  /** Empty: packets are neither signed nor verified, for networks closed otherwise. */
  readonly keys: readonly PacketKey[];
  readonly signingKeyId: number;
  readonly connectIntervalMs: number;
  /** Code point of all probe packets, 0 to 63: the network must treat them like the represented traffic. */
  readonly dscp: number;
  readonly icmpPayloadBytes: number;
  readonly icmpProber: "auto" | IcmpProberName;
  readonly acceptTranslatedSource: boolean;
  /** A sample is discarded if the measuring thread stalled for longer. */
  readonly stallBoundMs: number;
  readonly responderPacketsPerSecond: number;
  readonly zeroCheckIntervalMs: number;
}

/** Bytes carried by one network card since it came up. */
export interface CardBytes {
  readonly name: string;
  readonly received: number;
  readonly sent: number;
}

export interface FlowSnapshot {
  readonly node: string;
  readonly method: Method;
  readonly ipFamily: 4 | 6;
  /** See OUTCOMES of telemetry: `received` includes discarded answers, `lost` includes late ones. */
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** Reason or errno of losses, corruption and send errors -> count. */
  readonly errors: Readonly<Record<string, number>>;
  readonly discards: Readonly<Partial<Record<DiscardReason, number>>>;
  /** Sum of |RTT_i - RTT_(i-1)| in seconds; `variationCount` holds the number of differences. */
  readonly variationSeconds: number;
  readonly variationCount: number;
  /** Published network round-trip times, seconds, without the responder's residence. */
  readonly rtt: ExponentialHistogramData;
  /** From send to answer in hand, residence included, seconds. Empty for ICMP. */
  readonly application: ExponentialHistogramData;
  /** As `application`, but from the planned send time: no coordinated omission. Empty for ICMP. */
  readonly planned: ExponentialHistogramData;
  /** Samples with kernel stamps at both ends, and the others. */
  readonly stamps: Readonly<Record<"kernel" | "user", number>>;
  readonly renewals: number;
  /** Routers passed, from the newest ICMP reply's hop limit; null: unknown. */
  readonly hops: number | null;
}

export interface ResponderSnapshot {
  readonly answered: number;
  readonly refused: Readonly<Record<string, number>>;
}

export interface ThreadSnapshot {
  /** Timer lateness, seconds. */
  readonly loopDelay: ExponentialHistogramData;
  readonly stalls: number;
}

export type TimestampSource = "kernel" | "user" | "none";

/** Echo requests to the own loopback address: the reading when the network adds nothing. */
export interface ZeroCheckSnapshot {
  readonly source: TimestampSource;
  readonly sent: number;
  readonly received: number;
  readonly rtt: ExponentialHistogramData;
}

export interface EngineSnapshot {
  readonly startMs: number;
  readonly endMs: number;
  readonly flows: readonly FlowSnapshot[];
  /** Actual minus planned send time, seconds. */
  readonly sendLateness: ExponentialHistogramData;
  readonly responder: ResponderSnapshot;
  readonly thread: ThreadSnapshot;
  /** Null if echoes are impossible or not requested. */
  readonly zeroCheck: ZeroCheckSnapshot | null;
  /** Null if echoes are impossible or not requested. */
  readonly icmpProber: IcmpProberName | null;
}

export interface EngineHandlers {
  onSnapshot(snapshot: EngineSnapshot): void;
}

export interface Engine {
  readonly udpPort: number;
  readonly tcpPort: number;
  /** Replaces all peers. Unchanged ones keep their state. */
  setPeers(peers: readonly ProbePeer[]): void;
  /** Replaces the keys without losing a packet: answers to earlier requests verify by the key they name. */
  setKeys(keys: readonly PacketKey[], signingKeyId: number): void;
  stop(): Promise<void>;
}

export interface Doorbell {
  /** Calls `onReady` while `fd` is readable. Returns a function that ends it; call it before closing `fd`. */
  watch(fd: number, onReady: () => void): () => void;
}

export interface MeasuringThreads {
  readonly restarts: number;
  /** Null unless the caller's own thread measures and has an engine. */
  readonly doorbell: Doorbell | null;
  /** Rejects with a ProbeError if the engine's sockets cannot be opened. */
  createEngine(config: EngineConfig, handlers: EngineHandlers): Promise<Engine>;
  /** Multiplies each engine's send interval, for busy shared machines. @default 1 */
  setPace(factor: number): void;
  close(): Promise<void>;
}

export interface BandwidthMeasurement {
  readonly node: string;
  readonly transport: "tcp" | "udp";
  readonly result: BandwidthResult;
  readonly reason: string;
  readonly endMs: number;
  /** Rate on the wire to the peer, link-layer headers included, bit/s; null unless `ok`. */
  readonly achievedBitsPerSecond: number | null;
  readonly bytes: number;
  readonly durationMs: number;
}

/** Permission to test one path; at most one per node and per pair of zones exists at a time. */
export interface BandwidthLease {
  readonly id: string;
  readonly target: string;
  readonly expiresInMs: number;
  readonly maxBytes: number;
}

export interface BandwidthLeases {
  /** Null: not now; ask again after `retryAfterMs`. Rejects with a ProbeError if no server can be reached. */
  acquire(
    node: string,
    signal: AbortSignal,
  ): Promise<{ readonly lease: BandwidthLease | null; readonly retryAfterMs: number }>;
  /** Never rejects: an unreturned lease expires. */
  release(lease: BandwidthLease): Promise<void>;
}
