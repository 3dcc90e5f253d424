import type { Random } from "@isochrone/runtime";
import type { KeyReports } from "../keys/domain/key-reports.ts";
import type { AwaitedProbe, KeyRotation, KeyringFacts } from "../keys/domain/rotation.ts";

/** Faults of probes. Times in seconds. */
export interface Troubles {
  /** Maximum delay of a key change in a node's file. */
  readonly fileDelay: number;
  /** Restart probability per second and probe. */
  readonly restart: number;
  /** Outage probability per second and probe, and the maximum duration. */
  readonly outage: number;
  readonly outageLength: number;
}

interface Refusal {
  readonly second: number;
  readonly from: string;
  readonly to: string;
  readonly keyId: number;
}

const PLAN_EVERY = 15;
const FILE_EVERY = 10;
const MAX_FLIGHT = 2;
const MAX_DOWN = 60;
const PACKETS_EACH = 2;

interface Version {
  readonly second: number;
  readonly ring: KeyringFacts;
}

/** Simulated key handling of a probe: delayed file, plan requests, restarts, and signing. */
class SimulatedProbe {
  readonly node: string;
  readonly fileDelay: number;
  readonly #random: Random;
  held: ReadonlySet<number>;
  /** From the current plan; survives a restart. */
  signing: number;
  downUntil = 0;
  cutOffUntil = 0;
  #phase: number;

  constructor(node: string, random: Random, fileDelay: number, ring: KeyringFacts) {
    this.node = node;
    this.#random = random;
    this.fileDelay = fileDelay;
    this.#phase = Math.floor(random.next() * PLAN_EVERY);
    // The node's first read is fresh; later changes are delayed.
    this.held = idsOf(ring);
    this.signing = ring.signingKeyId;
  }

  isUp(second: number): boolean {
    return second >= this.downUntil;
  }

  /** Signs with its first key if it lacks the planned one. */
  get signsWith(): number {
    return this.held.has(this.signing) ? this.signing : Math.min(...this.held);
  }

  live(
    second: number,
    versions: readonly Version[],
    troubles: Troubles,
    ask: (probe: SimulatedProbe) => number,
  ): void {
    if (this.#random.next() < troubles.restart) {
      this.downUntil = second + 1 + Math.floor(this.#random.next() * MAX_DOWN);
      this.#phase = Math.floor(this.#random.next() * PLAN_EVERY);
    }
    if (this.#random.next() < troubles.outage)
      this.cutOffUntil = second + Math.floor(this.#random.next() * troubles.outageLength);
    if (!this.isUp(second)) return;
    if ((second + this.#phase) % FILE_EVERY === 0) this.#readFile(second, versions);
    if ((second + this.#phase) % PLAN_EVERY === 0 && second >= this.cutOffUntil) this.signing = ask(this);
  }

  #readFile(second: number, versions: readonly Version[]): void {
    const seen = versions.findLast((version) => version.second + this.fileDelay <= second);
    // A file never reverts to older keys.
    if (seen !== undefined && Math.max(...idsOf(seen.ring)) >= Math.max(...this.held))
      this.held = idsOf(seen.ring);
  }
}

/** Simulated probes with one aggregator that rotates their keys, in steps of a second. */
export class RotatingCluster {
  readonly probes: SimulatedProbe[] = [];
  readonly refusals: Refusal[] = [];
  readonly unconfirmed: string[] = [];
  rotations = 0;
  packets = 0;
  second = 0;
  readonly #random: Random;
  readonly #troubles: Troubles;
  readonly #versions: Version[];
  #flying: {
    readonly at: number;
    readonly from: string;
    readonly to: SimulatedProbe;
    readonly keyId: number;
  }[] = [];

  constructor(count: number, random: Random, troubles: Troubles) {
    this.#random = random;
    this.#troubles = troubles;
    this.#versions = [{ second: 0, ring: { keys: [{ id: 1, createdAtMs: 0 }], signingKeyId: 1 } }];
    for (let index = 0; index < count; index++) this.join(`node-${index}`);
  }

  get ring(): KeyringFacts {
    return this.#versions.at(-1)!.ring;
  }

  join(node: string, fileDelay = Math.floor(this.#random.next() * this.#troubles.fileDelay)): SimulatedProbe {
    const probe = new SimulatedProbe(node, this.#random, fileDelay, this.ring);
    this.probes.push(probe);
    return probe;
  }

  leave(node: string): void {
    this.probes.splice(
      this.probes.findIndex((probe) => probe.node === node),
      1,
    );
  }

  /** Simulates one second. The aggregator may be absent. */
  step(aggregator: { readonly rotation: KeyRotation; readonly reports: KeyReports } | null): void {
    this.second += 1;
    const { second } = this;
    const nowMs = second * 1000;
    for (const probe of this.probes) {
      probe.live(second, this.#versions, this.#troubles, (asking) => {
        if (aggregator === null) return asking.signing;
        const report = { heldKeyIds: [...asking.held], signingKeyId: asking.signsWith };
        aggregator.reports.record(asking.node, report, nowMs);
        return this.ring.signingKeyId;
      });
    }
    this.#deliver();
    this.#send();
    if (aggregator !== null) this.#rotate(aggregator.rotation, aggregator.reports, nowMs);
  }

  #rotate(rotation: KeyRotation, reports: KeyReports, nowMs: number): void {
    const awaited: AwaitedProbe[] = this.probes.map(({ node }) => ({ node, report: reports.of(node) }));
    const step = rotation.next(this.ring, awaited, { wallMs: nowMs, monotonicMs: nowMs });
    if (step.kind === "wait") return;
    if (step.kind === "publish") {
      this.#write({ ...this.ring, keys: [...this.ring.keys, { id: step.keyId, createdAtMs: nowMs }] });
      return;
    }
    this.unconfirmed.push(...step.unconfirmed);
    if (step.kind === "sign") this.#write({ ...this.ring, signingKeyId: step.keyId });
    else {
      this.rotations += 1;
      this.#write({ ...this.ring, keys: this.ring.keys.filter(({ id }) => id === step.keptKeyId) });
    }
  }

  #write(ring: KeyringFacts): void {
    this.#versions.push({ second: this.second, ring });
  }

  #send(): void {
    for (const from of this.probes) {
      if (!from.isUp(this.second)) continue;
      for (let packet = 0; packet < PACKETS_EACH; packet++) {
        const to = this.probes[Math.floor(this.#random.next() * this.probes.length)]!;
        const at = this.second + Math.floor(this.#random.next() * (MAX_FLIGHT + 1));
        this.#flying.push({ at, from: from.node, to, keyId: from.signsWith });
      }
    }
  }

  #deliver(): void {
    const arrived = this.#flying.filter(({ at }) => at <= this.second);
    this.#flying = this.#flying.filter(({ at }) => at > this.second);
    for (const { from, to, keyId } of arrived) {
      if (!to.isUp(this.second)) continue;
      this.packets += 1;
      if (!to.held.has(keyId)) this.refusals.push({ second: this.second, from, to: to.node, keyId });
    }
  }
}

function idsOf(ring: KeyringFacts): ReadonlySet<number> {
  return new Set(ring.keys.map(({ id }) => id));
}
