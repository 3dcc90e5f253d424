// Entry file of the receiver's thread. It blocks in the kernel, so nothing else runs in it.
import { randomBytes } from "node:crypto";
import { constants, setPriority } from "node:os";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { loadLibc } from "@isochrone/kernel-sockets";
import { reasonOf } from "@isochrone/primitives";
import { errnoOf } from "../engine/sockets.ts";
import type { FromReceiver, ReceiverConfig, ToReceiver } from "./messages.ts";
import { enterNamespace } from "./namespace.ts";
import { Receiver } from "./receiver.ts";

/** Maximum delay of a main-thread message while no test runs. Milliseconds. */
const IDLE_WAIT_MS = 100;
const BUSY_WAIT_MS = 1;
const BUSY_TURNS = 20;
const REPORT_MS = 1000;
const REST_MS = 10_000;

const port = parentPort;
if (port === null) throw new Error("bandwidth/receiver-worker.ts must be started as a worker thread");
const config = workerData as ReceiverConfig;
const post = (message: FromReceiver): void => port.postMessage(message);

try {
  setPriority(0, constants.priority.PRIORITY_HIGH);
} catch {
  // Needs CAP_SYS_NICE. Optional: the kernel stamps arrivals either way.
}

let receiver: Receiver | null = null;
/** An object, so that the loop sees changes made by messages. */
const state = { closing: false };
port.on("message", (message: ToReceiver) => {
  if (message.type === "keys") receiver?.setKeys(message.keys);
  else state.closing = true;
});

try {
  const libc = await loadLibc();
  if (config.networkNamespace !== undefined) enterNamespace(libc, config.networkNamespace);
  receiver = new Receiver(libc, config, randomBytes);
  post({ type: "opened", port: receiver.open() });
  await serve(receiver);
} catch (error) {
  const message = reasonOf(error);
  post({ type: "failed", message, errno: errnoOf(error) });
} finally {
  receiver?.close();
  port.close();
}

async function serve(receiver: Receiver): Promise<void> {
  let reportedMs = performance.now();
  let idleSinceMs = reportedMs;
  const restMs = config.sockets === undefined ? Number.POSITIVE_INFINITY : (config.restMs ?? REST_MS);
  while (!state.closing) {
    if (receiver.isBusy) for (let i = 0; i < BUSY_TURNS && receiver.isBusy; i++) receiver.turn(BUSY_WAIT_MS);
    else receiver.turn(IDLE_WAIT_MS);
    if (!receiver.isBusy && performance.now() - reportedMs > REPORT_MS) {
      reportedMs = performance.now();
      const counts = receiver.takeCounts();
      if (counts.strangePackets + Object.keys(counts.ends).length > 0) post({ type: "counts", counts });
    }
    if (!receiver.isIdle) idleSinceMs = performance.now();
    else if (performance.now() - idleSinceMs > restMs) break;
    await turnOfLoop();
  }
  post({ type: "counts", counts: receiver.takeCounts() });
  post({ type: state.closing ? "closed" : "resting" });
}
