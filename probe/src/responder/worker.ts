// Entry file of the responder's thread. It only answers peers, so that they measure the network and not this
// node.
import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { loadLibc, trackDescriptors } from "@isochrone/kernel-sockets";
import { reasonOf } from "@isochrone/primitives";
import { WorkerShare, type SharedMemory } from "../workers/share.ts";
import { KernelLoop } from "./kernel-loop.ts";
import type { ListenerFactory } from "./listener.ts";
import type { FromResponder, ToResponder } from "./messages.ts";
import { nodeListeners } from "./node-listeners.ts";
import { ResponderHost } from "./responder-host.ts";

const SWEEP_MS = 100;

interface Start {
  readonly share: SharedMemory;
  readonly sockets: "auto" | "node";
}

const port = parentPort;
if (port === null) throw new Error("responder/worker.ts must be started as a worker thread");
const { share, sockets } = workerData as Start;
const post = (message: FromResponder): void => port.postMessage(message);
/** Not for keys. Avoids loading the runtime's random source. */
const random = { next: (): number => Math.random() };
const monotonic = (): number => performance.now();

try {
  // On Linux the priority is per thread. A request that waits for the processor reads as a slow network.
  setPriority(0, constants.priority.PRIORITY_HIGH);
} catch {
  // Needs CAP_SYS_NICE. Optional: the residence in each answer covers most of the wait.
}

let sweptMs = monotonic();
const host = new ResponderHost({ listeners: await openListeners(), monotonic, random, post });
port.on("message", (message: ToResponder) => host.handle(message));

async function openListeners(): Promise<ListenerFactory> {
  if (sockets === "node") return onNode(null);
  try {
    const shared = new WorkerShare(share);
    const libc = trackDescriptors(await loadLibc(), shared.descriptors);
    const loop = new KernelLoop({
      libc,
      monotonic,
      afterTurn: (run) => void setImmediate(run),
      onTurn: sweepWhenDue,
    });
    shared.announceWake(loop.wakeFd);
    post({ type: "ready", sockets: "kernel", reason: null });
    return loop;
  } catch (error) {
    return onNode(reasonOf(error));
  }
}

function onNode(reason: string | null): ListenerFactory {
  setInterval(sweepWhenDue, SWEEP_MS);
  post({ type: "ready", sockets: "node", reason });
  return nodeListeners(monotonic);
}

function sweepWhenDue(): void {
  if (monotonic() - sweptMs < SWEEP_MS * 0.9) return;
  sweptMs = monotonic();
  host.sweep();
}
