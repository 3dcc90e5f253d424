// CPU of an orchestration frame, and the longest event loop delay, which delays the extender.
import { median, seeded } from "@isochrone/primitives";
import { ReplicaLoad } from "@isochrone/scheduler-plugin/testing";
import { cpuMs, threadMs } from "../streams/problems.ts";
import { Turns } from "../turns.ts";
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
    { name: "of it on the event loop, median", value: busy.loopMs, unit: "ms of CPU" },
    below("longest time without a turn for others, median of all frames", busy.heldMs, 25),
  ];
}

interface Frames {
  readonly frameMs: number;
  readonly loopMs: number;
  readonly heldMs: number;
}

/** @param most maximum requests per second of a zone */
async function measured(most: number): Promise<Frames> {
  const draw = seeded(9);
  const rates = Array.from({ length: SERVICES * ZONES }, () => most * draw());
  const load = new ReplicaLoad({
    services: SERVICES,
    zones: ZONES,
    nodesPerZone: 50,
    rate: (service, zone) => rates[service * ZONES + zone]!,
  });
  const frames: number[] = [];
  const loops: number[] = [];
  const holds: number[] = [];
  for (let at = 0; at < WARM_UP + FRAMES; at++) {
    const [began, beganHere] = [cpuMs(), threadMs()];
    await load.frame();
    const [tookMs, tookHereMs] = [cpuMs() - began, threadMs() - beganHere];
    // Measuring turns costs time that does not belong to a frame.
    const turns = new Turns();
    await load.frame();
    const heldMs = turns.stop();
    if (at < WARM_UP) continue;
    frames.push(tookMs);
    loops.push(tookHereMs);
    holds.push(heldMs);
  }
  await load.stop();
  return { frameMs: Math.max(...frames), loopMs: median(loops)!, heldMs: median(holds)! };
}

function below(name: string, value: number, target: number): BenchResult {
  return { name, value, unit: "ms of CPU", target: `< ${target}`, met: value < target };
}
