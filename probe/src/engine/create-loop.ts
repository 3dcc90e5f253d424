import { loadLibc, type Libc } from "@isochrone/kernel-sockets";
import { isMainThread } from "node:worker_threads";
import { reasonOf } from "@isochrone/primitives";
import { KernelLoop } from "./kernel-loop.ts";
import type { Loop, LoopDeps } from "./loop.ts";
import { UserSpaceLoop } from "./user-space-loop.ts";

export interface LoopChoice {
  readonly loop: Loop;
  /** The loop again if it uses kernel sockets, else null. */
  readonly kernel: KernelLoop | null;
  readonly sockets: "kernel" | "node";
  /** Why kernel sockets cannot be used; null if they are used, or were not requested. */
  readonly reason: string | null;
  /** Writing 8 bytes here ends the loop's wait. Null: Node's loop needs no wake-up. */
  readonly wakeFd: number | null;
}

interface LoopPlace {
  readonly track?: (libc: Libc) => Libc;
  /** The process's main thread, which does other Node work too. @default false */
  readonly isMain?: boolean;
  readonly onTurn?: () => void;
}

/** Poll timeout on the main thread when we cannot tell whether Node.js has pending work. Milliseconds. */
const BLIND_TURN_MS = 10;

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
