// What goes wrong during a delivery run: brokers and aggregators are killed, or cut off, one after the other,
// at times drawn by a seed.
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "@isochrone/runtime";

/** Something that can be taken away and brought back. */
export interface Victim {
  readonly name: string;
  takeAway(): Promise<void>;
  bringBack(): Promise<void>;
}

export interface FaultPlan {
  readonly count: number;
  /** From the end of one fault to the begin of the next, drawn between half of it and one and a half. */
  readonly everyMs: number;
  /** How long the victim is away. */
  readonly awayMs: { readonly least: number; readonly most: number };
}

/**
 * Injects `plan.count` faults; every victim is back when it resolves. Kinds take turns, so that a short run
 * has all of them.
 */
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
