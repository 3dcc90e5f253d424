import type { Arrival } from "../requests/workload.ts";
import type { SimNode } from "./sim-node.ts";

export class FrameCounts {
  readonly failed: Float64Array;
  #settled = 0;
  readonly #arrived: Float64Array;
  readonly #sites: number;
  readonly #busySeconds: Float64Array;
  readonly #readySeconds: Float64Array;

  constructor(services: number, sites: number) {
    this.failed = new Float64Array(services);
    this.#arrived = new Float64Array(services * sites);
    this.#sites = sites;
    this.#busySeconds = new Float64Array(services);
    this.#readySeconds = new Float64Array(services);
  }

  arrived({ service, site }: Arrival): void {
    this.#arrived[service * this.#sites + site]!++;
  }

  settled(service: number, isInTime: boolean): void {
    this.#settled++;
    if (!isInTime) this.failed[service]!++;
  }

  used(nodes: readonly SimNode[], seconds: number): void {
    for (const { ready, busy, waiting } of nodes)
      for (let service = 0; service < this.failed.length; service++) {
        const replicas = ready[service]!;
        if (replicas === 0) continue;
        const wanted = busy[service]! + Math.min(waiting[service]!, Math.max(0, replicas - busy[service]!));
        this.#busySeconds[service]! += seconds * wanted;
        this.#readySeconds[service]! += seconds * replicas;
      }
  }

  inTime(): number {
    const failed = this.failed.reduce((sum, count) => sum + count, 0);
    return this.#settled === 0 ? 1 : 1 - failed / this.#settled;
  }

  perSecond(frameSeconds: number): number[][] {
    return Array.from({ length: this.failed.length }, (_, service) =>
      Array.from(
        this.#arrived.subarray(service * this.#sites, (service + 1) * this.#sites),
        (count) => count / frameSeconds,
      ),
    );
  }

  utilizations(): number[] {
    return Array.from(this.#busySeconds, (busy, service) => {
      const ready = this.#readySeconds[service]!;
      return ready === 0 ? 0 : busy / ready;
    });
  }
}
