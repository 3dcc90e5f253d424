import type { Link } from "@isochrone/topology";

const FIGURES = 13;
/** Bytes per link: figures, flags and its share of the list of names. */
export const FIGURE_BYTES: number = FIGURES * 4 + 2;

const ORIGINS = ["measured", "estimated", "declared"] as const;
const CAPACITY_ORIGINS = [undefined, null, "declared", "measured"] as const;
const TRANSPORTS = [undefined, null, "tcp", "udp"] as const;
const PROVISIONAL = 4;

interface Identities {
  readonly list: readonly Pick<Link, "source" | "target" | "method" | "ipFamily">[];
  readonly positions: Map<string, number>;
}

/** Links in numeric columns. 32-bit precision exceeds that of the measurements. */
export class LinkColumns {
  readonly #identities: Identities;
  readonly #figures: Float32Array;
  readonly #flags: Uint16Array;

  private constructor(identities: Identities, links: readonly Link[]) {
    this.#identities = identities;
    this.#figures = new Float32Array(links.length * FIGURES);
    this.#flags = Uint16Array.from(links, flagsOf);
    for (const [index, link] of links.entries())
      for (const [column, value] of figuresOf(link).entries())
        this.#figures[index * FIGURES + column] = value ?? Number.NaN;
  }

  static of(links: readonly Link[], before: LinkColumns | null): LinkColumns {
    const known = before?.identities.list;
    const isSame =
      known?.length === links.length && links.every((link, index) => isLike(link, known[index]!));
    return new LinkColumns(isSame ? before!.identities : identitiesOf(links), links);
  }

  get identities(): Identities {
    return this.#identities;
  }

  indexOf(source: string, target: string, method: string): number {
    return this.#identities.positions.get(keyOf(source, target, method)) ?? -1;
  }

  all(observedAt: string): Link[] {
    return this.#identities.list.map((_, index) => this.link(index, observedAt));
  }

  link(index: number, observedAt: string): Link {
    const { source, target, method, ipFamily } = this.#identities.list[index]!;
    const flags = this.#flags[index]!;
    const at = (column: number): number | null => rounded(this.#figures[index * FIGURES + column]!);
    const ageSeconds = at(9);
    const capacityOrigin = CAPACITY_ORIGINS[(flags >> 3) & 3];
    const transport = TRANSPORTS[(flags >> 5) & 3];
    return {
      source,
      target,
      method,
      ipFamily,
      rttMs: { p50: at(0), p90: at(1), p99: at(2), mean: at(3), count: at(4) ?? 0 },
      lossRatio: at(5),
      jitterMs: at(6),
      bandwidthBitsPerSecond: { capacity: at(10), achieved: at(11), available: at(12) },
      ...(capacityOrigin === undefined ? {} : { bandwidthCapacityOrigin: capacityOrigin }),
      ...(transport === undefined ? {} : { bandwidthTransport: transport }),
      costMs: at(7),
      errorMs: at(8),
      origin: ORIGINS[flags & 3]!,
      provisional: (flags & PROVISIONAL) !== 0,
      ageSeconds,
      observedAt:
        ageSeconds === null ? null : new Date(Date.parse(observedAt) - ageSeconds * 1000).toISOString(),
    };
  }
}

function identitiesOf(links: readonly Link[]): Identities {
  const list = links.map(({ source, target, method, ipFamily }) => ({ source, target, method, ipFamily }));
  const positions = new Map<string, number>();
  for (const [index, { source, target, method }] of list.entries()) {
    const key = keyOf(source, target, method);
    // If a pair has both IP families, the first counts.
    if (!positions.has(key)) positions.set(key, index);
  }
  return { list, positions };
}

function keyOf(source: string, target: string, method: string): string {
  return `${source}\n${target}\n${method}`;
}

function isLike(link: Link, known: Identities["list"][number]): boolean {
  return (
    link.source === known.source &&
    link.target === known.target &&
    link.method === known.method &&
    link.ipFamily === known.ipFamily
  );
}

function figuresOf(link: Link): readonly (number | null)[] {
  const { rttMs, bandwidthBitsPerSecond: bandwidth } = link;
  return [
    rttMs.p50,
    rttMs.p90,
    rttMs.p99,
    rttMs.mean,
    rttMs.count,
    link.lossRatio,
    link.jitterMs,
    link.costMs,
    link.errorMs,
    link.ageSeconds,
    bandwidth.capacity,
    bandwidth.achieved,
    bandwidth.available,
  ];
}

function flagsOf(link: Link): number {
  return (
    ORIGINS.indexOf(link.origin) |
    (link.provisional ? PROVISIONAL : 0) |
    (CAPACITY_ORIGINS.indexOf(link.bandwidthCapacityOrigin) << 3) |
    (TRANSPORTS.indexOf(link.bandwidthTransport) << 5)
  );
}

/** Rounds to 7 digits, the precision of 32 bits. */
function rounded(value: number): number | null {
  return Number.isNaN(value) ? null : Number(value.toPrecision(7));
}
