import { loadLibc, type Libc } from "@isochrone/kernel-sockets";
import { reasonOf } from "@isochrone/primitives";
import { KernelLoop } from "./kernel-loop.ts";
import type { Loop, LoopDeps } from "./loop.ts";
import { UserSpaceLoop } from "./user-space-loop.ts";

interface LoopChoice {
  readonly loop: Loop;
  readonly sockets: "kernel" | "node";
  /** Why the kernel's own sockets can't be used; null when they are, or weren't wanted. */
  readonly reason: string | null;
  /** What ends the loop's wait when 8 bytes are written to it. Null: Node's loop needs no such thing. */
  readonly wakeFd: number | null;
}

/**
 * The loop on the kernel's own sockets; Node's where those can't be had. `track` sees libc before any
 * descriptor is opened.
 */
export async function createLoop(
  deps: LoopDeps,
  wanted: "auto" | "node" = "auto",
  track: (libc: Libc) => Libc = (libc) => libc,
): Promise<LoopChoice> {
  const onNode = (reason: string | null): LoopChoice => ({
    loop: new UserSpaceLoop(deps),
    sockets: "node",
    reason,
    wakeFd: null,
  });
  if (wanted === "node") return onNode(null);
  try {
    const libc = track(await loadLibc());
    const loop = new KernelLoop({ ...deps, libc, yieldToNode: (run) => void setImmediate(run) });
    return { loop, sockets: "kernel", reason: null, wakeFd: loop.wakeFd < 0 ? null : loop.wakeFd };
  } catch (error) {
    return onNode(reasonOf(error));
  }
}
