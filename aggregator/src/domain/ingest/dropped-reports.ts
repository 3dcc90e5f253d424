import type { RecordIdentity } from "@isochrone/telemetry";

/** The bus' header by which a publisher says how many records of its stream it dropped so far. */
const DROPPED_HEADER = "isochrone-dropped";

/** What a publisher said last. */
interface DroppedReport {
  readonly epoch: string;
  /** Records of the epoch, in all. */
  readonly dropped: number;
}

/** Sums up what publishers say they dropped. Each reports a running total per epoch. */
export class DroppedReports {
  readonly #maxSources: number;
  readonly #bySource = new Map<string, DroppedReport>();
  #total = 0;

  constructor(maxSources: number) {
    this.#maxSources = maxSources;
  }

  /** Only grows. */
  get total(): number {
    return this.#total;
  }

  observe({ source, epoch, sequence }: RecordIdentity, headers: Readonly<Record<string, string>>): void {
    const dropped = Number(headers[DROPPED_HEADER] ?? 0);
    if (!Number.isSafeInteger(dropped) || dropped < 0) return;
    const known = this.#bySource.get(source);
    if (known?.epoch === epoch && known.dropped >= dropped) return;
    // A source that is first heard in the middle of its life dropped these before: the gaps aren't seen.
    const isOld = known === undefined && sequence > dropped;
    const before = isOld ? dropped : known?.epoch === epoch ? known.dropped : 0;
    this.#total += dropped - before;
    this.#bySource.set(source, { epoch, dropped });
    if (this.#bySource.size > this.#maxSources) this.#bySource.delete(this.#bySource.keys().next().value!);
  }
}
