// The newest demand, and whether it is fresh. Fresh is what came in lately by this process's own clock: those
// of others may be wrong.
import type { Clock } from "@isochrone/runtime";
import type { Demand, ServiceDemand } from "@isochrone/topology";

/** After so long without a new version, what was counted says nothing of now. */
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

  /** Throws what reading throws. */
  async refresh(signal?: AbortSignal): Promise<void> {
    const { version, observedAt, windowSeconds, services } = await this.#read(signal);
    // Another replica counts its versions from 1 again.
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

  /** Another one for each demand that is read; null: none was read. */
  get version(): string | null {
    return this.#version;
  }

  /** For how long requests were counted. */
  get windowSeconds(): number {
    return this.#windowSeconds;
  }

  get isStale(): boolean {
    return this.#clock.monotonic() - this.#newAtMs > STALE_MS;
  }

  /** Whether anything was read. */
  get isEmpty(): boolean {
    return this.#version === null;
  }
}
