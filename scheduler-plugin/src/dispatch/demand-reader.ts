// Holds the newest demand and whether it is fresh. Freshness uses this process's clock, because others' may
// be wrong.
import type { Clock } from "@isochrone/runtime";
import type { Demand, ServiceDemand } from "@isochrone/topology";

/** Demand without a new version for this long doesn't describe the present. */
const STALE_MS = 120_000;

export class DemandReader {
  readonly #read: (signal?: AbortSignal) => Promise<Demand>;
  readonly #clock: Clock;
  #services: ReadonlyMap<string, ServiceDemand> = new Map();
  #version: string | null = null;
  #windowSeconds = 0;
  #newAtMs: number;

  constructor(read: (signal?: AbortSignal) => Promise<Demand>, clock: Clock) {
    this.#read = read;
    this.#clock = clock;
    this.#newAtMs = clock.monotonic();
  }

  async refresh(signal?: AbortSignal): Promise<void> {
    const { version, observedAt, windowSeconds, services } = await this.#read(signal);
    // Another replica counts versions from 1 again.
    const id = `${version} ${observedAt}`;
    if (id === this.#version) return;
    this.#version = id;
    this.#windowSeconds = windowSeconds;
    this.#newAtMs = this.#clock.monotonic();
    this.#services = new Map(services.map((each) => [`${each.namespace}/${each.name}`, each]));
  }

  of(service: string): ServiceDemand | null {
    return this.#services.get(service) ?? null;
  }

  /** Changes with each demand that is read; null before the first. */
  get version(): string | null {
    return this.#version;
  }

  get windowSeconds(): number {
    return this.#windowSeconds;
  }

  get isStale(): boolean {
    return this.#clock.monotonic() - this.#newAtMs > STALE_MS;
  }

  get isEmpty(): boolean {
    return this.#version === null;
  }
}
