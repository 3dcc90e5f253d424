import type { Clock, Logger, Random } from "@isochrone/runtime";
import { parseAddress } from "../domain/ip.ts";
import type {
  BandwidthLease,
  BandwidthLeases,
  BandwidthMeasurement,
  Doorbell,
  PacketKey,
  ProbePeer,
} from "../ports/ports.ts";
import { HourBudget } from "./budget.ts";
import type { ReceiverCounts, SenderResult } from "./messages.ts";
import { readNic, type NicUse } from "./nic.ts";
import { ReceiverThread, sendTest } from "./threads.ts";

/** Enough for every rate, and below the two seconds that a link may be occupied. */
const MAX_BURST_MS = 1800;
/** Lease time needed beyond the burst: small packets, handshake, last reports. */
const AROUND_BURST_MS = 3000;
const MIN_BURST_MS = 300;
const MAX_QUEUE_MS = 25;
/** A smaller budget would end the test before it has a result. */
const MIN_TEST_BYTES = 262_144;
const MAX_NIC_USE = 0.3;
/** Bounds of the pause requested by the aggregator. */
const MIN_PAUSE_MS = 1000;
const RECEIVER_MAX_BYTES = 4_294_967_296;
const RECEIVER_MAX_MS = 10_000;

export interface BandwidthSettings {
  readonly node: string;
  readonly identity: string;
  readonly bindAddress: string;
  readonly port: number;
  readonly intervalMs: number;
  readonly bytesPerHour: number;
  readonly maxBitsPerSecond: number;
  readonly dscp: number;
  readonly acceptTranslatedSource: boolean;
  readonly hostNetwork: boolean;
  readonly networkNamespace?: string;
}

interface BandwidthDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly leases: BandwidthLeases;
  onMeasurement(measurement: BandwidthMeasurement): void;
  /** Counts of the receiving side, about once a second while something happens. */
  onReceived?(counts: ReceiverCounts): void;
  /** No lease server could be reached. */
  onLeaseError?(): void;
  /** State of the node's own interface; only with hostNetwork. */
  onNic?(nic: NicUse): void;
  /** This thread's doorbell, so that an idle receiver needs no thread. @default none */
  readonly doorbell?: Doorbell | null;
}

interface Keys {
  readonly keys: readonly PacketKey[];
  readonly signingKeyId: number;
}

export class BandwidthService {
  readonly #settings: BandwidthSettings;
  readonly #deps: BandwidthDeps;
  readonly #budget: HourBudget;
  readonly #stopped = new AbortController();
  readonly #receiver: ReceiverThread;
  #keys: Keys;
  #peers: readonly ProbePeer[] = [];
  #port = 0;
  #tests = 0;
  #loop: Promise<void> | null = null;

  constructor(settings: BandwidthSettings, keys: Keys, deps: BandwidthDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#keys = keys;
    this.#budget = new HourBudget(settings.bytesPerHour);
    const { identity, bindAddress, port, acceptTranslatedSource, networkNamespace } = settings;
    this.#receiver = new ReceiverThread(
      {
        bindAddress,
        port,
        identity,
        acceptTranslatedSource,
        keys: keys.keys,
        maxBytes: RECEIVER_MAX_BYTES,
        maxMs: RECEIVER_MAX_MS,
        ...(networkNamespace === undefined ? {} : { networkNamespace }),
      },
      { ...deps, onCounts: (counts) => deps.onReceived?.(counts) },
    );
  }

  get port(): number {
    return this.#port;
  }

  get remainingBytes(): number {
    return this.#budget.remaining(this.#deps.clock.monotonic());
  }

  /** Opens the receiver, then starts requesting leases. @throws ProbeError `probe_bind_failed` */
  async start(): Promise<void> {
    this.#port = await this.#receiver.open();
    this.#loop = this.#repeat();
  }

  setPeers(peers: readonly ProbePeer[]): void {
    this.#peers = peers;
  }

  /** Running tests keep the keys they began with. */
  setKeys(keys: readonly PacketKey[], signingKeyId: number): void {
    this.#keys = { keys, signingKeyId };
    this.#receiver.setKeys(keys);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
    await this.#receiver.close();
    this.#port = 0;
  }

  /** Never rejects. The first pause is random, so that nodes started together do not ask together. */
  async #repeat(): Promise<void> {
    const { clock, random, logger } = this.#deps;
    const { signal } = this.#stopped;
    let pauseMs = this.#settings.intervalMs * random.next();
    while (!signal.aborted) {
      await clock.sleep(pauseMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      const desiredMs = await this.#once(signal).catch((error: unknown) => {
        logger.warnOnce("bandwidth-test", "bandwidth test failed", { error });
        return this.#settings.intervalMs;
      });
      pauseMs = desiredMs * (0.8 + 0.4 * random.next());
    }
  }

  async #once(signal: AbortSignal): Promise<number> {
    const { leases, logger } = this.#deps;
    const { node, intervalMs } = this.#settings;
    let answer: Awaited<ReturnType<BandwidthLeases["acquire"]>>;
    try {
      answer = await leases.acquire(node, signal);
    } catch (error) {
      if (!signal.aborted) {
        this.#deps.onLeaseError?.();
        logger.warnOnce("bandwidth-lease", "nobody to ask for a bandwidth test", { error });
      }
      return intervalMs;
    }
    if (answer.lease === null) return Math.min(intervalMs, Math.max(MIN_PAUSE_MS, answer.retryAfterMs));
    try {
      this.#publish(await this.#test(answer.lease, signal), answer.lease);
    } finally {
      await leases.release(answer.lease);
    }
    return intervalMs;
  }

  async #test(lease: BandwidthLease, signal: AbortSignal): Promise<Ended> {
    // UDP and TCP reveal different properties of a path.
    const transport = this.#tests++ % 2 === 0 ? "udp" : "tcp";
    const peer = this.#peers.find(({ node }) => node === lease.target);
    if (peer === undefined || peer.bandwidthPort === null)
      return notBegun(transport, "error", "the lease names a node that isn't a peer, or takes no tests");
    const limits = {
      maxBytes: Math.min(lease.maxBytes, this.remainingBytes, RECEIVER_MAX_BYTES),
      maxDurationMs: Math.min(MAX_BURST_MS, lease.expiresInMs - AROUND_BURST_MS),
    };
    if (limits.maxBytes < MIN_TEST_BYTES)
      return notBegun(
        transport,
        "skipped_budget",
        `only ${Math.floor(limits.maxBytes)} bytes are left for a test`,
      );
    if (limits.maxDurationMs < MIN_BURST_MS) {
      const leastMs = AROUND_BURST_MS + MIN_BURST_MS;
      return notBegun(transport, "error", `a lease must last ${leastMs} ms, got ${lease.expiresInMs}`);
    }
    const nic = await this.#readNic(signal);
    if (nic.share > MAX_NIC_USE)
      return notBegun(
        transport,
        "skipped_busy",
        `the own interface is used by ${Math.round(100 * nic.share)} %`,
      );
    const ends = AbortSignal.any([signal, AbortSignal.timeout(lease.expiresInMs)]);
    return this.#send(peer, transport, { ...limits, capacity: nic.capacity }, ends);
  }

  /** Utilization of the node's interface and its rate; 0 and infinite if unknown. */
  async #readNic(signal: AbortSignal): Promise<{ readonly share: number; readonly capacity: number }> {
    const nic = this.#settings.hostNetwork ? await readNic(this.#deps.clock, signal) : null;
    if (nic !== null) this.#deps.onNic?.(nic);
    const capacity = nic?.capacityBitsPerSecond ?? Number.POSITIVE_INFINITY;
    return { share: (nic?.usedBitsPerSecond ?? 0) / capacity, capacity };
  }

  async #send(
    peer: ProbePeer,
    transport: Ended["transport"],
    limits: { readonly maxBytes: number; readonly maxDurationMs: number; readonly capacity: number },
    signal: AbortSignal,
  ): Promise<Ended> {
    const { identity, bindAddress, maxBitsPerSecond, dscp, networkNamespace } = this.#settings;
    const source = parseAddress(identity);
    const destination = parseAddress(peer.identity);
    if (source === null || destination === null)
      return notBegun(
        transport,
        "error",
        `identities must be IP addresses, got ${identity} and ${peer.identity}`,
      );
    const result = await sendTest(
      {
        transport,
        address: peer.address,
        port: peer.bandwidthPort ?? 0,
        source,
        destination,
        bindAddress,
        ...this.#keys,
        maxBytes: limits.maxBytes,
        maxBitsPerSecond: Math.min(maxBitsPerSecond, limits.capacity),
        maxDurationMs: limits.maxDurationMs,
        maxQueueMs: MAX_QUEUE_MS,
        dscp,
        ...(networkNamespace === undefined ? {} : { networkNamespace }),
      },
      this.#deps.clock,
      signal,
    );
    return endOf(transport, result);
  }

  #publish(ended: Ended, { target }: BandwidthLease): void {
    const { clock, logger } = this.#deps;
    this.#budget.spend(clock.monotonic(), ended.bytes);
    const { limit, ...rest } = ended;
    const measurement: BandwidthMeasurement = { ...rest, node: target, endMs: clock.now() };
    logger.info("bandwidth test ended", { target, limit, ...rest });
    this.#deps.onMeasurement(measurement);
  }
}

type Ended = Omit<BandwidthMeasurement, "node" | "endMs"> & {
  readonly limit: string | null;
};

function notBegun(transport: Ended["transport"], result: Ended["result"], reason: string): Ended {
  return { transport, result, reason, achievedBitsPerSecond: null, bytes: 0, durationMs: 0, limit: null };
}

function endOf(transport: Ended["transport"], result: SenderResult): Ended {
  if (result.type === "failed") return notBegun(transport, "error", result.message);
  if (result.type === "refused") {
    if (result.refusal === "busy") return notBegun(transport, "skipped_busy", "the peer takes another test");
    return notBegun(transport, "error", `the peer refused the test: ${result.refusal}`);
  }
  const { estimate: _, ...outcome } = result.outcome;
  return { transport, ...outcome };
}
