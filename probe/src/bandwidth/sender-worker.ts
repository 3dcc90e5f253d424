import { randomBytes } from "node:crypto";
import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { loadLibc } from "@isochrone/kernel-sockets";
import { reasonOf } from "@isochrone/primitives";
import type { SenderData, SenderResult } from "./messages.ts";
import { enterNamespace } from "./namespace.ts";
import { runTest } from "./sender.ts";

const port = parentPort;
if (port === null) throw new Error("bandwidth/sender-worker.ts must be started as a worker thread");
const { task, abort } = workerData as SenderData;
const flag = new Int32Array(abort);

try {
  setPriority(0, constants.priority.PRIORITY_HIGH);
} catch {
  // Needs CAP_SYS_NICE. Optional: a stalled burst is detected.
}

port.postMessage(await test());

async function test(): Promise<SenderResult> {
  try {
    const libc = await loadLibc();
    if (task.networkNamespace !== undefined) enterNamespace(libc, task.networkNamespace);
    return runTest(libc, task, {
      now: () => performance.now() * 1e6,
      random: randomBytes,
      isAborted: () => Atomics.load(flag, 0) !== 0,
    });
  } catch (error) {
    return { type: "failed", message: reasonOf(error) };
  }
}
