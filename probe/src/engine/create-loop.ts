import { loadLibc, type Libc } from "@isochrone/kernel-sockets";
import { isMainThread } from "node:worker_threads";
import { reasonOf } from "@isochrone/primitives";
import { KernelLoop } from "./kernel-loop.ts";
import type { Loop, LoopDeps } from "./loop.ts";
import { UserSpaceLoop } from "./user-space-loop.ts";

export interface LoopChoice {
  readonly loop: Loop;
  /** The same, where it is on the kernel's own sockets; else null. */
  readonly kernel: KernelLoop | null;
  readonly sockets: "kernel" | "node";
  /** Why the kernel's own sockets can't be used; null when they are, or weren't wanted. */
  readonly reason: string | null;
  /** What ends the loop's wait when 8 bytes are written to it. Null: Node's loop needs no such thing. */
  readonly wakeFd: number | null;
}

interface LoopPlace {
  /** Sees libc before any descriptor is opened. */
  readonly track?: (libc: Libc) => Libc;
  /** The thread is the process's main one, whose Node has other work too. @default false */
  readonly isMain?: boolean;
  readonly onTurn?: () => void;
}

/** A turn of the main thread's loop where nothing says that Node has work. Milliseconds. */
const BLIND_TURN_MS = 10;

/**
 * The loop on the kernel's own sockets; Node's where those can't be had.
 */
export async function createLoop(
  deps: LoopDeps,
  wanted: "auto" | "node" = "auto",
  { track = (libc) => libc, isMain = false, onTurn }: LoopPlace = {},
): Promise<LoopChoice> {
  const onNode = (reason: string | null): LoopChoice => ({
    loop: new UserSpaceLoop(deps),
    kernel: null,
    sockets: "node",
    reason,
    wakeFd: null,
  });
  if (wanted === "node") return onNode(null);
  try {
    const libc = track(await loadLibc());
    const nodeFd = isMain && isMainThread ? libc.nodeLoopFd() : -1;
    const loop = new KernelLoop({
      ...deps,
      libc,
      yieldToNode: (run) => void setImmediate(run),
      ...(nodeFd >= 0 ? { nodeFd } : isMain ? { turnMs: BLIND_TURN_MS } : {}),
      ...(onTurn === undefined ? {} : { onTurn }),
    });
    return {
      loop,
      kernel: loop,
      sockets: "kernel",
      reason: null,
      wakeFd: loop.wakeFd < 0 ? null : loop.wakeFd,
    };
  } catch (error) {
    return onNode(reasonOf(error));
  }
}
