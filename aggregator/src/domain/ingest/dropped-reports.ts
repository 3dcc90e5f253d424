import type { RecordIdentity } from "@isochrone/telemetry";

/** Record header: number of records of its stream that the publisher dropped so far. */
const DROPPED_HEADER = "isochrone-dropped";

interface DroppedReport {
  readonly epoch: string;
  readonly dropped: number;
}

/** Sums dropped records over publishers. Each reports a running total per epoch. */
export class DroppedReports {
  readonly #maxSources: number;
  readonly #bySource = new Map<string, DroppedReport>();
  #total = 0;

  constructor(maxSources: number) {
    this.#maxSources = maxSources;
  }

  get total(): number {
    return this.#total;
  }

  observe({ source, epoch, sequence }: RecordIdentity, headers: Readonly<Record<string, string>>): void {
    const dropped = Number(headers[DROPPED_HEADER] ?? 0);
    if (!Number.isSafeInteger(dropped) || dropped < 0) return;
    const known = this.#bySource.get(source);
    if (known?.epoch === epoch && known.dropped >= dropped) return;
    // Drops before a source was first heard leave no gap in its sequences.
    const isOld = known === undefined && sequence > dropped;
    const before = isOld ? dropped : known?.epoch === epoch ? known.dropped : 0;
    this.#total += dropped - before;
    this.#bySource.set(source, { epoch, dropped });
    if (this.#bySource.size > this.#maxSources) this.#bySource.delete(this.#bySource.keys().next().value!);
  }
}
