import type { NodeState } from "@isochrone/dispatch";
import type { Arrival } from "../requests/workload.ts";

export class SimNode implements NodeState {
  readonly index: number;
  readonly site: number;
  readonly cores: number;
  readonly memoryGb: number;
  freeCores: number;
  freeMemoryGb: number;
  readonly ready: Int16Array;
  readonly starting: Int16Array;
  readonly busy: Int16Array;
  readonly waiting: Int16Array;
  readonly inFlight: Int16Array;
  readonly cached: Uint8Array;
  /** Earliest deadline first. */
  readonly queue: Arrival[] = [];

  constructor(index: number, site: number, cores: number, memoryGb: number, services: number) {
    this.index = index;
    this.site = site;
    this.cores = this.freeCores = cores;
    this.memoryGb = this.freeMemoryGb = memoryGb;
    this.ready = new Int16Array(services);
    this.starting = new Int16Array(services);
    this.busy = new Int16Array(services);
    this.waiting = new Int16Array(services);
    this.inFlight = new Int16Array(services);
    this.cached = new Uint8Array(services);
  }

  get queueLength(): number {
    return this.queue.length;
  }
}

/** Inserts after all requests with an earlier or equal deadline. */
export function enqueue(queue: Arrival[], request: Arrival): void {
  let at = queue.length;
  while (at > 0 && queue[at - 1]!.deadline > request.deadline) at--;
  queue.splice(at, 0, request);
}
