import { randomBytes } from "node:crypto";
import type { IcmpHostDeps } from "./icmp-host.ts";

export function hostSurroundings(): Pick<IcmpHostDeps, "monotonic" | "random" | "later"> {
  return {
    monotonic: () => performance.now(),
    random: () => Math.random(),
    later(run, delayMs) {
      if (delayMs > 0) setTimeout(run, delayMs);
      else setImmediate(run);
    },
  };
}

/** Distinguishes this process's echoes from all others. */
export function randomIdentity(): { readonly id: number; readonly nonce: bigint } {
  const random = randomBytes(10);
  return { id: random.readUInt16BE(8), nonce: random.readBigUInt64BE(0) };
}
