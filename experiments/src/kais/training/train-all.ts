import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BenchOptions } from "../../frame/bench.ts";
import { trainEndpoints } from "../endpoints/train-endpoints.ts";
import { LEARNED, type TrainingPlan } from "./learned.ts";
import { train } from "./train.ts";

export async function trainAll(
  { seed, decisions, system }: TrainingPlan,
  folder: string,
  { signal, onProgress }: BenchOptions,
): Promise<void> {
  const began = performance.now();
  const total = LEARNED.length + 1;
  const tell = (at: number, name: keyof typeof decisions, part: number, inTime: number | null): void => {
    const share = (at + part) / total;
    const secondsLeft = ((performance.now() - began) / 1e3 / share) * (1 - share);
    const look = inTime === null ? "" : `, ${inTime.toFixed(3)} in time`;
    const what = `training ${name}: ${Math.round(part * decisions[name])} decisions${look}`;
    onProgress({ done: at, total, share, secondsLeft, what });
  };
  for (const [at, contender] of LEARNED.entries()) {
    if (existsSync(join(folder, `${contender}-weights.json`))) continue;
    await train({
      contender,
      settings: system,
      seed,
      decisions: decisions[contender],
      folder,
      signal,
      onProgress: (part, point) => tell(at, contender, part, point?.inTime ?? null),
    });
  }
  const file = join(folder, "endpoint-weights.json");
  if (existsSync(file)) return;
  const weights = await trainEndpoints({
    seed,
    decisions: decisions.endpoints,
    signal,
    onProgress: (part, inTime) => tell(LEARNED.length, "endpoints", Math.min(1, part), inTime),
  });
  writeFileSync(file, weights);
}
