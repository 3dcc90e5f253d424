import type { LabClient } from "@isochrone/lab/testing";
import type { Random } from "@isochrone/runtime";
import type { NetworkTruth } from "./network-truth.ts";

const FAULT_KINDS = ["slow-link", "lossy-link", "dead-node", "slow-zone", "healed-links"] as const;
type FaultKind = (typeof FAULT_KINDS)[number];

/** A planned fault. Times count from the verdict. */
interface PlannedFault {
  readonly kind: FaultKind;
  readonly atMs: number;
  readonly healedAtMs: number;
}

const SLOW_MS = { least: 40, most: 160 };
const VERY_SLOW_MS = 400;
const LOSS = { least: 0.05, most: 0.4 };
const SET_ATTEMPTS = 4;
/** Share of the time at the end without faults. */
const QUIET_SHARE = 0.15;

/** Each fault has its own time slot and is healed within it. At most one node dies, and stays dead. */
export function drawFaults(count: number, durationMs: number, random: Random): PlannedFault[] {
  const partMs = (durationMs * (1 - QUIET_SHARE)) / count;
  let deadNodes = 0;
  return Array.from({ length: count }, (_, index) => {
    const kinds = FAULT_KINDS.filter((kind) => kind !== "dead-node" || deadNodes === 0);
    const kind = kinds[Math.floor(random.next() * kinds.length)]!;
    if (kind === "dead-node") deadNodes++;
    const atMs = partMs * (index + 0.1 * random.next());
    return { kind, atMs, healedAtMs: partMs * (index + 0.7 + 0.2 * random.next()) };
  });
}

export interface MadeFault {
  readonly kind: FaultKind;
  readonly text: string;
  readonly atMs: number;
  healedMs: number | null;
}

interface Surroundings {
  readonly lab: Pick<LabClient, "setLink" | "killNode" | "matrix">;
  readonly truth: NetworkTruth;
  readonly random: Random;
  readonly zones: ReadonlyMap<string, string>;
  readonly usedNodes: () => readonly string[];
  readonly crossedLinks: () => Promise<readonly string[]>;
}

/** Round-trip time of each link before any fault, ms. Healthy links lose no packets. */
type Healthy = ReadonlyMap<string, number>;

export class FaultMaker {
  readonly made: MadeFault[] = [];
  readonly #around: Surroundings;
  readonly #healthy: Healthy;
  readonly #dead = new Set<string>();
  readonly #changed = new Set<string>();

  private constructor(around: Surroundings, healthy: Healthy) {
    this.#around = around;
    this.#healthy = healthy;
  }

  static async on(around: Surroundings): Promise<FaultMaker> {
    const { nodes, rttMs } = await around.lab.matrix();
    const healthy = new Map(
      nodes.flatMap((a, row) =>
        nodes.flatMap((b, column) =>
          row < column ? [[`${a} ${b}`, rttMs[row]![column] ?? 0] as const] : [],
        ),
      ),
    );
    return new FaultMaker(around, healthy);
  }

  async make(kind: FaultKind): Promise<MadeFault> {
    return this.#made(kind, await this.#do(kind));
  }

  /** Slows the busiest link enough that pods move even on a busy machine. */
  async slowBusiest(): Promise<MadeFault> {
    const crossed = await this.#around.crossedLinks();
    const pair = crossed.find((each) => this.#healthy.has(each));
    if (pair === undefined) throw new Error("no link is crossed by calls");
    return this.#made("slow-link", await this.#slow(pair, VERY_SLOW_MS));
  }

  async heal(): Promise<void> {
    for (const pair of this.#changed) {
      const [a = "", b = ""] = pair.split(" ");
      if (this.#dead.has(a) || this.#dead.has(b)) continue;
      await this.#set(a, b, { rttMs: this.#healthy.get(pair)!, lossRatio: 0, cut: false });
    }
    this.#changed.clear();
    const nowMs = Date.now();
    for (const fault of this.made) if (fault.kind !== "dead-node") fault.healedMs ??= nowMs;
  }

  async #do(kind: FaultKind): Promise<string> {
    const { lab, truth } = this.#around;
    if (kind === "healed-links") {
      await this.heal();
      return "all links are as at the start";
    }
    if (kind === "dead-node") {
      const node = this.#pick(this.#alive(this.#around.usedNodes()));
      this.#dead.add(node);
      await lab.killNode(node);
      return `${node} dies`;
    }
    if (kind === "slow-zone") return this.#slowZone();
    const pair = await this.#pickPair();
    if (kind === "slow-link") return this.#slow(pair, this.#between(SLOW_MS));
    const [a = "", b = ""] = pair.split(" ");
    this.#changed.add(pair);
    const lossRatio = this.#between(LOSS);
    truth.setLoss(a, b, lossRatio);
    await this.#set(a, b, { lossRatio });
    return `${a} - ${b} loses ${(100 * lossRatio).toFixed(0)} %`;
  }

  #made(kind: FaultKind, text: string): MadeFault {
    const fault: MadeFault = { kind, text, atMs: Date.now(), healedMs: null };
    this.made.push(fault);
    return fault;
  }

  /** A busy machine answers late, and the first request may fail. */
  async #set(a: string, b: string, change: Parameters<LabClient["setLink"]>[2]): Promise<void> {
    for (let attempt = 1; ; attempt++)
      try {
        await this.#around.lab.setLink(a, b, change);
        return;
      } catch (error) {
        if (attempt === SET_ATTEMPTS) throw error;
      }
  }

  async #slow(pair: string, addedMs: number): Promise<string> {
    const [a = "", b = ""] = pair.split(" ");
    this.#changed.add(pair);
    const rttMs = Math.round(this.#healthy.get(pair)! + addedMs);
    await this.#set(a, b, { rttMs });
    return `${a} - ${b} takes ${rttMs} ms`;
  }

  async #slowZone(): Promise<string> {
    const { zones, usedNodes } = this.#around;
    const zone = zones.get(this.#pick(this.#alive(usedNodes())))!;
    const addedMs = Math.round(this.#between(SLOW_MS));
    for (const [pair, healthyMs] of this.#healthy) {
      const [a = "", b = ""] = pair.split(" ");
      if ((zones.get(a) === zone) === (zones.get(b) === zone)) continue;
      if (this.#dead.has(a) || this.#dead.has(b)) continue;
      this.#changed.add(pair);
      await this.#set(a, b, { rttMs: Math.round(healthyMs + addedMs) });
    }
    return `zone ${zone} is ${addedMs} ms farther from all others`;
  }

  async #pickPair(): Promise<string> {
    const isAlive = (pair: string): boolean => pair.split(" ").every((node) => !this.#dead.has(node));
    const all = [...this.#healthy.keys()].filter(isAlive);
    const crossed = new Set(await this.#around.crossedLinks());
    const some = all.filter((pair) => crossed.has(pair));
    return this.#pick(some.length > 0 ? some : all);
  }

  #alive(nodes: readonly string[]): string[] {
    return nodes.filter((node) => !this.#dead.has(node));
  }

  #between({ least, most }: { readonly least: number; readonly most: number }): number {
    return least + this.#around.random.next() * (most - least);
  }

  #pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.#around.random.next() * items.length)];
    if (item === undefined) throw new Error("there is no node or link left that could get a fault");
    return item;
  }
}
