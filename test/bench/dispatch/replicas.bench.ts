// CPU time of a frame of orchestration by zone, as the scheduler-plugin works it out, and how long it keeps
// the event loop at most: whoever asks the extender meanwhile waits for so long.
import { seeded } from "@isochrone/primitives";
import { replicaLoad } from "@isochrone/scheduler-plugin/testing";
import { cpuMs } from "../streams/problems.ts";
import type { BenchResult } from "../types.ts";

const SERVICES = 1_000;
const ZONES = 20;
const FRAMES = 10;
const WARM_UP = 3;

export async function run(): Promise<BenchResult[]> {
  const busy = await measured(300);
  const quiet = await measured(70);
  const shape = `${SERVICES.toLocaleString("en-US")} Services in ${ZONES} zones`;
  return [
    below(`frame, ${shape}, most zones want more, largest of ${FRAMES}`, busy.frameMs, 1_000),
    below(`frame, ${shape}, most zones have what they want, largest of ${FRAMES}`, quiet.frameMs, 1_000),
    below("longest time without a turn for others, median of all frames", busy.heldMs, 25),
  ];
}

/** @param most requests per second of a zone */
async function measured(most: number): Promise<{ readonly frameMs: number; readonly heldMs: number }> {
  const draw = seeded(9);
  const rates = Array.from({ length: SERVICES * ZONES }, () => most * draw());
  const frame = replicaLoad({
    services: SERVICES,
    zones: ZONES,
    nodesPerZone: 50,
    rate: (service, zone) => rates[service * ZONES + zone]!,
  });
  const frames: number[] = [];
  const holds: number[] = [];
  for (let at = 0; at < WARM_UP + FRAMES; at++) {
    const turns = new Turns();
    const began = cpuMs();
    await frame();
    const tookMs = cpuMs() - began;
    const heldMs = turns.stop();
    if (at < WARM_UP) continue;
    frames.push(tookMs);
    holds.push(heldMs);
  }
  return { frameMs: Math.max(...frames), heldMs: holds.sort((a, b) => a - b)[FRAMES / 2]! };
}

/** CPU time between two turns of the event loop. */
class Turns {
  #last = cpuMs();
  #longest = 0;
  #isOver = false;

  constructor() {
    this.#next();
  }

  stop(): number {
    this.#isOver = true;
    return this.#longest;
  }

  #next(): void {
    setImmediate(() => {
      const now = cpuMs();
      this.#longest = Math.max(this.#longest, now - this.#last);
      this.#last = now;
      if (!this.#isOver) this.#next();
    });
  }
}

function below(name: string, value: number, target: number): BenchResult {
  return { name, value, unit: "ms of CPU", target: `< ${target}`, met: value < target };
}
