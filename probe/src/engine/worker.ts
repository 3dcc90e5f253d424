// Entry file of the measuring thread: real clocks, real randomness, and only packets.
import { randomBytes } from "node:crypto";
import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { trackDescriptors } from "@isochrone/kernel-sockets";
import { reasonOf } from "@isochrone/primitives";
import { WorkerShare, type SharedMemory } from "../workers/share.ts";
import { createLoop } from "./create-loop.ts";
import { EngineHost } from "./engine-host.ts";
import type { FromWorker, ToWorker } from "./messages.ts";

interface Start {
  readonly share: SharedMemory;
  readonly sockets: "auto" | "node";
}

const port = parentPort;
if (port === null) throw new Error("engine/worker.ts must be started as a worker thread");

try {
  // On Linux the priority is per thread. A packet that waits for the processor reads as a slow network.
  setPriority(0, constants.priority.PRIORITY_HIGH);
} catch {
  // Needs CAP_SYS_NICE. Optional: the instrument measures its own lateness.
}

const post = (message: FromWorker): void => port.postMessage(message);
const fault = (error: unknown): void => post({ type: "fault", message: reasonOf(error) });
const monotonic = (): number => performance.now();
const { share, sockets: wanted } = workerData as Start;
const shared = new WorkerShare(share);
const { loop, sockets, reason, wakeFd } = await createLoop({ monotonic, onError: fault }, wanted, {
  track: (libc) => trackDescriptors(libc, shared.descriptors),
});
if (wakeFd !== null) shared.announceWake(wakeFd);
post({ type: "ready", sockets, reason });
const host = new EngineHost({
  loop,
  monotonic,
  now: () => Date.now(),
  random: () => Math.random(),
  nonce: () => randomBytes(8).readBigUInt64BE(),
  post,
});

port.on("message", (message: ToWorker) => host.handle(message));
