import { changesIn, difference } from "./domain/difference.ts";
import { NOTHING } from "./domain/kernel-state.ts";
import type { KernelPort } from "./ports/ports.ts";

export async function cleanUp(
  kernel: KernelPort,
): Promise<{ readonly isClean: boolean; readonly text: string }> {
  const steps = difference(await kernel.read([]), NOTHING);
  if (steps.length === 0) return { isClean: true, text: "nothing of the network manager was there" };
  const complaints = await kernel.apply(steps);
  const left = changesIn(difference(await kernel.read([]), NOTHING));
  if (left === 0) return { isClean: true, text: `removed by ${changesIn(steps)} changes; nothing is left` };
  return { isClean: false, text: [`${left} changes are left`, ...complaints].join("\n") };
}
