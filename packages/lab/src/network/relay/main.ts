import { constants, setPriority } from "node:os";
import { reasonOf } from "@isochrone/primitives";
import { DelayQueue } from "./delay-queue.ts";
import type { RelayMessage, RelayRequest } from "./messages.ts";
import { monotonicMs } from "./monotonic.ts";
import { Relay } from "./relay.ts";
import { ThreadTimer } from "./thread-timer.ts";

const EXPIRY_INTERVAL_MS = 10_000;

function tell(message: RelayMessage): void {
  process.send?.(message);
}

async function answer(relay: Relay, { id, call, arguments: argument }: RelayRequest): Promise<void> {
  try {
    const handler = relay[call] as (argument: unknown) => unknown;
    tell({ kind: "result", id, result: await handler.call(relay, argument) });
  } catch (error) {
    tell({ kind: "failure", id, message: `${call}: ${reasonOf(error)}` });
  }
}

try {
  // Before the timer thread inherits it: a network must not slow down because its hosts are busy.
  setPriority(0, constants.priority.PRIORITY_HIGH);
} catch {
  // Most users may not; delays are then late on a busy machine.
}

const queue: DelayQueue = new DelayQueue(monotonicMs, new ThreadTimer(() => queue.drain()));
const relay = new Relay({
  monotonic: monotonicMs,
  queue,
  fault: (event, message) => tell({ kind: "fault", event, message }),
});

process.on("message", (request) => void answer(relay, request as RelayRequest));
process.on("disconnect", () => process.exit(0));
// Ctrl-C reaches the whole process group; the network must run until the parent is done.
process.on("SIGINT", () => undefined);
setInterval(() => relay.expire(), EXPIRY_INTERVAL_MS).unref();
tell({ kind: "ready" });
