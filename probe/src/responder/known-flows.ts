/** Bytes 12 to 24 of a packet: session and nonce, known only to the flow's ends and to on-path parties. */
const TOKEN_AT = 12;
const TOKEN_END = 24;
const MARK_AT = 20;
const SEQUENCE_AT = 24;
/** Window of distinguishable sequences: one bit each. */
const REMEMBERED = 32;

interface Flow {
  readonly sourceKey: string;
  readonly mark: number;
  provenMs: number;
  newest: number;
  /** Bit i: the sequence `newest - i` was seen. */
  seen: number;
}

/** State of a packet's flow: unknown, or known with a new or repeated sequence. */
type Acquaintance = "stranger" | "fresh" | "repeat";

/**
 * Flows with a recent, validly signed packet, named by session and nonce: 96 random bits. A flood can forge a
 * peer's address but not its flow, so known flows keep their reserved capacity.
 */
export class KnownFlows {
  readonly #maxFlows: number;
  readonly #forgetMs: number;
  readonly #flows = new Map<string, Flow>();
  #revision = 0;

  constructor(maxFlows: number, forgetMs: number) {
    this.#maxFlows = maxFlows;
    this.#forgetMs = forgetMs;
  }

  get size(): number {
    return this.#flows.size;
  }

  get revision(): number {
    return this.#revision;
  }

  marks(atMost: number): number[] {
    return [...this.#flows.values()].slice(-atMost).map(({ mark }) => mark);
  }

  look(packet: Buffer, sourceKey: string, nowMs: number): Acquaintance {
    const flow = this.#flows.get(packet.toString("latin1", TOKEN_AT, TOKEN_END));
    if (flow === undefined || flow.sourceKey !== sourceKey) return "stranger";
    if (nowMs - flow.provenMs > this.#forgetMs) return "stranger";
    const ahead = (packet.readUInt32BE(SEQUENCE_AT) - flow.newest) | 0;
    if (ahead > 0) return "fresh";
    return ahead > -REMEMBERED && (flow.seen & (1 << -ahead)) === 0 ? "fresh" : "repeat";
  }

  proven(packet: Buffer, sourceKey: string, nowMs: number): void {
    const token = packet.toString("latin1", TOKEN_AT, TOKEN_END);
    const sequence = packet.readUInt32BE(SEQUENCE_AT);
    let flow = this.#flows.get(token);
    if (flow === undefined || flow.sourceKey !== sourceKey) {
      const mark = packet.readUInt32BE(MARK_AT);
      flow = { sourceKey, mark, provenMs: nowMs, newest: sequence, seen: 0 };
      this.#revision++;
    }
    this.#flows.delete(token);
    this.#flows.set(token, flow);
    if (this.#flows.size > this.#maxFlows) this.#forgetOldest();
    flow.provenMs = nowMs;
    markSeen(flow, sequence);
  }

  #forgetOldest(): void {
    for (const token of this.#flows.keys()) {
      this.#flows.delete(token);
      return;
    }
  }
}

function markSeen(flow: Flow, sequence: number): void {
  const ahead = (sequence - flow.newest) | 0;
  if (ahead > 0) {
    flow.seen = ahead < REMEMBERED ? flow.seen << ahead : 0;
    flow.newest = sequence;
    flow.seen |= 1;
  } else if (ahead > -REMEMBERED) flow.seen |= 1 << -ahead;
}
