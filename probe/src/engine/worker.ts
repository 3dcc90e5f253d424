// Entry file of the measuring thread: real clocks, real randomness, and nothing but packets.
import { randomBytes } from "node:crypto";
import { parentPort } from "node:worker_threads";
import { EngineHost } from "./engine-host.ts";
import type { ToWorker } from "./messages.ts";

const port = parentPort;
if (port === null) throw new Error("engine/worker.ts must be started as a worker thread");

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
