import { seededRandom } from "@isochrone/runtime";
import type { LinkSettings } from "../links.ts";
import { Path } from "./path.ts";
import { TrafficLog } from "./traffic-log.ts";

export class Pair {
  readonly source: number;
  readonly target: number;
  readonly forward: Path;
  readonly back: Path;
  readonly udp = new TrafficLog();
  readonly tcp = new TrafficLog();

  /** Each direction has its own random sequence, so that pairs are independent. */
  constructor(source: number, target: number, link: LinkSettings, seed: number) {
    this.source = source;
    this.target = target;
    const base = (Math.imul(seed, 0x9e3779b1) ^ (source << 17) ^ (target << 1)) & ~1;
    this.forward = new Path(link, seededRandom(base));
    this.back = new Path(link, seededRandom(base | 1));
  }

  change(link: LinkSettings, nowMs: number): void {
    this.forward.change(link, nowMs);
    this.back.change(link, nowMs);
  }
}
