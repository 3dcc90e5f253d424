import { randomBytes } from "node:crypto";
import type { IcmpHostDeps } from "./icmp-host.ts";

/** The real time and randomness of a thread or process that runs the host. */
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

/** What tells a process's echoes from everybody else's. */
export function randomIdentity(): { readonly id: number; readonly nonce: bigint } {
  const random = randomBytes(10);
  return { id: random.readUInt16BE(8), nonce: random.readBigUInt64BE(0) };
}
