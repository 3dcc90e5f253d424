// What the probe needs from the measuring side and from the source of plans, and what they say to each other.
import type { BandwidthResult, ExponentialHistogramData, Method, Outcome } from "@isochrone/telemetry";

/**
 * A node to measure. `address` may be a translated one; `identity` is what the peer calls itself, and what
 * packets are bound to.
 */
export interface ProbePeer {
  readonly node: string;
  readonly zone: string | null;
  readonly region: string | null;
  readonly address: string;
  readonly identity: string;
  readonly udpPort: number;
  readonly tcpPort: number;
  /** Null: takes no bandwidth bursts. */
  readonly bandwidthPort: number | null;
}

/** Whom this node measures. */
export interface ProbePlan {
  /** Hash of the plan. */
  readonly version: string;
  readonly node: string;
  /** How the plan's author knows this node. */
  readonly identity: string;
  readonly zone: string | null;
  readonly region: string | null;
  /** Which key signs from now on. Null: as the settings say. */
  readonly signingKeyId: number | null;
  readonly peers: readonly ProbePeer[];
}

/** Why a plan was not taken. */
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
  /** `body` is parsed JSON that nobody has judged yet. */
  | { readonly kind: "plan"; readonly body: unknown; readonly etag: string | null };

/** Which keys a probe holds, and which of them signs; 0: packets aren't authenticated. */
export interface ProbeKeyState {
  readonly heldKeyIds: readonly number[];
  readonly signingKeyId: number;
}

/** Where plans come from. */
export interface PlanSource {
  /**
   * `etag` is what the last accepted plan came with; `self` tells the source what the rotation of keys waits
   * for. Rejects with a ProbeError when the source can't be read.
   */
  fetch(etag: string | null, self: ProbeKeyState, signal: AbortSignal): Promise<PlanAnswer>;
}

/**
 * Why an answer's round-trip time was left out (the first three), or a planned send was: the thread was too
 * slow, the transaction before hadn't ended, or the connection was only being opened.
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

/** A key of packet authentication. */
export interface PacketKey {
  /** 1 to 65535. */
  readonly id: number;
  readonly secret: Uint8Array;
}

/** What sends ICMP echoes, best first; `auto` takes the first that works here. */
export const ICMP_PROBERS = ["kernel", "net_ping"] as const;
export type IcmpProberName = (typeof ICMP_PROBERS)[number];

/** What a measuring engine needs to know of its node. All of it can be copied to another thread. */
export interface EngineConfig {
  readonly node: string;
  /** The IP address that peers know this node by. */
  readonly identity: string;
  readonly bindAddress: string;
  /** 0 = any free port. */
  readonly udpPort: number;
  readonly tcpPort: number;
  readonly methods: readonly Method[];
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly publishIntervalMs: number;
  readonly warmupPackets: number;
  readonly packetBytes: number;
  /** Empty: packets are neither signed nor verified, for networks that are closed otherwise. */
  readonly keys: readonly PacketKey[];
  /** 0 without keys. */
  readonly signingKeyId: number;
  /** Time between two handshakes of `tcp_connect` with one peer. */
  readonly connectIntervalMs: number;
  /**
   * Differentiated services code point of all probe packets, 0 to 63: probes are to be treated as the traffic
   * they stand for.
   */
  readonly dscp: number;
  /** Payload of an echo request, without ICMP and IP headers. */
  readonly icmpPayloadBytes: number;
  readonly icmpProber: "auto" | IcmpProberName;
  readonly acceptTranslatedSource: boolean;
  /** A sample is left out when the measuring thread stood still for longer than this. */
  readonly stallBoundMs: number;
  readonly responderPacketsPerSecond: number;
  /** 0 = no zero-check. */
  readonly zeroCheckIntervalMs: number;
}

/** Bytes that one network card of the node has carried since it came up. */
export interface CardBytes {
  readonly name: string;
  readonly received: number;
  readonly sent: number;
}

/** What one peer's method measured since the snapshot before. */
export interface FlowSnapshot {
  readonly node: string;
  readonly method: Method;
  readonly ipFamily: 4 | 6;
  /** See OUTCOMES of telemetry: `received` counts discarded answers too, `lost` counts late ones too. */
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** Why something was lost, corrupt or not sent: reason or errno -> count. */
  readonly errors: Readonly<Record<string, number>>;
  readonly discards: Readonly<Partial<Record<DiscardReason, number>>>;
  /** Sum of |RTT_i - RTT_(i-1)| in seconds, and of how many differences. */
  readonly variationSeconds: number;
  readonly variationCount: number;
  /** Network round-trip times, seconds: the responder's residence subtracted. This is what is published. */
  readonly rtt: ExponentialHistogramData;
  /**
   * What a program sees: from the send to the answer in hand, residence included, seconds. Empty for ICMP.
   */
  readonly application: ExponentialHistogramData;
  /** As `application`, but from the planned send time: no coordinated omission. Empty for ICMP. */
  readonly planned: ExponentialHistogramData;
  /** Samples whose time came from the kernel's stamps at both ends, and the others. */
  readonly stamps: Readonly<Record<"kernel" | "user", number>>;
  /** Sockets that lost everything and were replaced by one with another port. */
  readonly renewals: number;
  /** Routers between, as far as the hop limit of the newest ICMP reply tells; null: not known. */
  readonly hops: number | null;
}

export interface ResponderSnapshot {
  readonly answered: number;
  /** Reason -> packets without an answer. */
  readonly refused: Readonly<Record<string, number>>;
}

/** State of the thread all engines of a process share. */
export interface ThreadSnapshot {
  /** How much later than due the thread's timer ran, seconds. */
  readonly loopDelay: ExponentialHistogramData;
  /** Times the thread stood still for longer than the bound. */
  readonly stalls: number;
}

export type TimestampSource = "kernel" | "user" | "none";

/**
 * Echo requests to this host's own loopback address: what the instrument reads when the network adds nothing.
 */
export interface ZeroCheckSnapshot {
  readonly source: TimestampSource;
  readonly sent: number;
  readonly received: number;
  readonly rtt: ExponentialHistogramData;
}

export interface EngineSnapshot {
  /** Wall time of the measuring thread, ms since the epoch. */
  readonly startMs: number;
  readonly endMs: number;
  readonly flows: readonly FlowSnapshot[];
  /** Actual minus planned send time, seconds. */
  readonly sendLateness: ExponentialHistogramData;
  readonly responder: ResponderSnapshot;
  readonly thread: ThreadSnapshot;
  /** null where no echo request can be sent, or none was asked for. */
  readonly zeroCheck: ZeroCheckSnapshot | null;
  /** Null: no echo can be sent here, or none was asked for. */
  readonly icmpProber: IcmpProberName | null;
}

export interface EngineHandlers {
  onSnapshot(snapshot: EngineSnapshot): void;
}

/** Measures the peers of one node and answers theirs. */
export interface Engine {
  /** Where its responder listens. */
  readonly udpPort: number;
  readonly tcpPort: number;
  /** Replaces all peers. What goes on unchanged keeps its state. */
  setPeers(peers: readonly ProbePeer[]): void;
  /**
   * Replaces the keys without losing a packet: answers to what was signed before are still verified by the
   * key they name.
   */
  setKeys(keys: readonly PacketKey[], signingKeyId: number): void;
  /** Hands over what was measured since the last snapshot, then ends. */
  stop(): Promise<void>;
}

/** Says when something waits at a descriptor. */
export interface Doorbell {
  /** `onReady` comes as long as something waits there. Returns what ends it, to be called before a close. */
  watch(fd: number, onReady: () => void): () => void;
}

/** The threads that time packets, answer peers and send echoes. Engines of several nodes may share them. */
export interface MeasuringThreads {
  /** How often the thread that times packets, or the one that answers, died and was started anew. */
  readonly restarts: number;
  /**
   * Of the caller's own thread, where that is the one that measures; null: it isn't, or there is no engine.
   */
  readonly doorbell: Doorbell | null;
  /** Rejects with a ProbeError when the engine's sockets can't be opened. */
  createEngine(config: EngineConfig, handlers: EngineHandlers): Promise<Engine>;
  /**
   * Leaves so many times each engine's interval between its sends: for whoever shares a machine that is busy.
   * @default 1
   */
  setPace(factor: number): void;
  /** Ends the threads and all engines in them. */
  close(): Promise<void>;
}

/** One bandwidth test, finished or not begun. */
export interface BandwidthMeasurement {
  readonly node: string;
  readonly transport: "tcp" | "udp";
  readonly result: BandwidthResult;
  /** Why it wasn't `ok`; "" when it was. */
  readonly reason: string;
  /** Wall time of its end, ms since the epoch. */
  readonly endMs: number;
  /**
   * Rate on the wire from this node to the peer, link-layer headers included, bits per second; null unless
   * `ok`.
   */
  readonly achievedBitsPerSecond: number | null;
  /** Bytes that it put on the wire. */
  readonly bytes: number;
  /** How long it occupied the link. */
  readonly durationMs: number;
}

/**
 * The permission to test one way of the network; at most one per node and per pair of zones is out at a time.
 */
export interface BandwidthLease {
  readonly id: string;
  readonly target: string;
  /** Ends by itself after so long. */
  readonly expiresInMs: number;
  /** Bytes that this test may put on the wire. */
  readonly maxBytes: number;
}

/** Who gives the permissions: the aggregator. */
export interface BandwidthLeases {
  /** Null: not now; ask again after `retryAfterMs`. Rejects with a ProbeError when nobody can be asked. */
  acquire(
    node: string,
    signal: AbortSignal,
  ): Promise<{ readonly lease: BandwidthLease | null; readonly retryAfterMs: number }>;
  /** Never rejects: a lease that can't be given back ends by itself. */
  release(lease: BandwidthLease): Promise<void>;
}
