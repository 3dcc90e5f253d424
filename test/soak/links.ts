import type { LabClient, LinkChange, PairRecord } from "@isochrone/lab/testing";
import type { Random } from "@isochrone/runtime";
import type { ClusterGraphSnapshot } from "@isochrone/topology";

/** Tolerance of a graph value against the emulator's record: this share of it or this many ms, the larger. */
const TOLERANCE_RATIO = 0.05;
const TOLERANCE_MS = 1.5;
/** A changed link is compared again once window and record (30 s each) contain only data after the change. */
const SETTLE_MS = 38_000;
const WINDOW_MS = 30_000;
const LOSS_SHARE = 0.3;
const MAX_LOSS_RATIO = 0.1;
const MIN_RTT_MS = 5;
const MAX_RTT_MS = 400;

export interface Agreement {
  readonly compared: number;
  /** As a share of the tolerance; above 1 is out of tolerance. */
  readonly worst: number;
  readonly mediansOutside: number;
  readonly p90sOutside: number;
  readonly detail: string;
}

/** Changes links at random and compares the others with the emulator's record. */
export class LinkChanger {
  readonly #lab: LabClient;
  readonly #nodes: readonly string[];
  readonly #random: Random;
  readonly #changedMs = new Map<string, number>();
  changes = 0;

  constructor(lab: LabClient, nodes: readonly string[], random: Random) {
    this.#lab = lab;
    this.#nodes = nodes;
    this.#random = random;
  }

  async change(): Promise<string> {
    const a = this.#pick(this.#nodes);
    const b = this.#pick(this.#nodes.filter((node) => node !== a));
    const change = this.#randomChange();
    for (const pair of [`${a} ${b}`, `${b} ${a}`]) this.#changedMs.set(pair, Date.now());
    await this.#lab.setLink(a, b, change);
    this.changes++;
    return `${a} - ${b} ${JSON.stringify(change)}`;
  }

  async compare(graph: () => Promise<ClusterGraphSnapshot>): Promise<Agreement> {
    const [{ links }, { pairs }] = await Promise.all([graph(), this.#lab.record(WINDOW_MS)]);
    const nowMs = Date.now();
    const udp = new Map(
      links
        .filter(({ method }) => method === "udp_rr")
        .map(({ source, target, rttMs }) => [`${source} ${target}`, rttMs]),
    );
    const settled = pairs.filter(
      ({ source, target }) => nowMs - (this.#changedMs.get(`${source} ${target}`) ?? 0) > SETTLE_MS,
    );
    const found = settled.flatMap((pair) => deviations(pair, udp.get(`${pair.source} ${pair.target}`)));
    const worst = found.reduce((a, b) => (b.share > a.share ? b : a), {
      quantile: "none",
      share: 0,
      detail: "none",
    });
    const outside = (name: string): number =>
      found.filter(({ quantile, share }) => quantile === name && share > 1).length;
    return {
      compared: settled.length,
      worst: worst.share,
      mediansOutside: outside("p50"),
      p90sOutside: outside("p90"),
      detail: worst.detail,
    };
  }

  #randomChange(): LinkChange {
    if (this.#random.next() < LOSS_SHARE)
      return { lossRatio: round(this.#random.next() * MAX_LOSS_RATIO, 3) };
    return { rttMs: round(MIN_RTT_MS + this.#random.next() * (MAX_RTT_MS - MIN_RTT_MS), 1) };
  }

  #pick(nodes: readonly string[]): string {
    return nodes[Math.floor(this.#random.next() * nodes.length)]!;
  }
}

interface Deviation {
  readonly quantile: string;
  readonly share: number;
  readonly detail: string;
}

interface Quantiles {
  readonly p50: number | null;
  readonly p90: number | null;
}

/** A link with exchanges but without a graph value counts as completely wrong. */
function deviations({ source, target, udp }: PairRecord, rttMs: Quantiles | undefined): Deviation[] {
  const quantiles = [
    ["p50", rttMs?.p50 ?? null, udp.p50Ms],
    ["p90", rttMs?.p90 ?? null, udp.p90Ms],
  ] as const;
  return quantiles.flatMap(([name, graphMs, recordMs]) => {
    if (recordMs === null) return [];
    const detail = `${source} ${target} ${name} graph ${graphMs?.toFixed(2) ?? "none"} record ${recordMs.toFixed(2)} ms`;
    // With about 20 samples in the window, one side may have a p90 while the other has none yet.
    if (graphMs === null)
      return name === "p90" ? [] : [{ quantile: name, share: Number.POSITIVE_INFINITY, detail }];
    const share = Math.abs(graphMs - recordMs) / Math.max(TOLERANCE_RATIO * recordMs, TOLERANCE_MS);
    return [{ quantile: name, share, detail }];
  });
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
