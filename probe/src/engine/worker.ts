// Entry file of the measuring thread: real clocks, real randomness, and nothing but packets.
import { randomBytes } from "node:crypto";
import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import { EngineHost } from "./engine-host.ts";
import type { ToWorker } from "./messages.ts";

const port = parentPort;
if (port === null) throw new Error("engine/worker.ts must be started as a worker thread");

try {
  // On Linux the priority is the thread's own. A packet that waits for the processor reads as a slow network.
  setPriority(0, constants.priority.PRIORITY_HIGH);
} catch {
  // Not allowed without CAP_SYS_NICE: the instrument measures its own lateness either way.
}

const host = new EngineHost({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  nonce: () => randomBytes(8).readBigUInt64BE(),
  setTimer: (run, delayMs) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  afterPoll: (run) => {
    setImmediate(run);
  },
  post: (message) => port.postMessage(message),
});

port.on("message", (message: ToWorker) => host.handle(message));
