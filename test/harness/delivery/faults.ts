// Kills or unplugs brokers and aggregators one at a time, at seeded random times.
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "@isochrone/runtime";

export interface Victim {
  readonly name: string;
  takeAway(): Promise<void>;
  bringBack(): Promise<void>;
}

export interface FaultPlan {
  readonly count: number;
  /** Mean time between faults. Each gap is drawn from 0.5 to 1.5 times this. */
  readonly everyMs: number;
  readonly awayMs: { readonly least: number; readonly most: number };
}

/** Resolves with all victims back. Kinds alternate, so that a short run has all of them. */
export async function injectFaults(
  kinds: readonly (readonly Victim[])[],
  { count, everyMs, awayMs }: FaultPlan,
  random: Random,
  onFault: (text: string) => void,
): Promise<void> {
  for (let i = 0; i < count; i++) {
    await delay(everyMs * (0.5 + random.next()));
    const kind = kinds[i % kinds.length]!;
    const victim = kind[Math.floor(random.next() * kind.length)]!;
    const away = awayMs.least + random.next() * (awayMs.most - awayMs.least);
    onFault(`${i + 1}/${count}: ${victim.name} is gone for ${Math.round(away)} ms`);
    await victim.takeAway();
    await delay(away);
    await victim.bringBack();
  }
}
