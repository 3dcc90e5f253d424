// The wire's process. Its parent talks to it over the IPC channel; without a parent it ends.
import { constants, setPriority } from "node:os";
import { reasonOf } from "@isochrone/primitives";
import type { CallMessage } from "../../child/call-process.ts";
import { enterNamespace } from "../enter.ts";
import type { WireCalls, WirePlan, WireRequest } from "./messages.ts";
import { PacketThread } from "./packet-thread.ts";
import { readPackets, readRecord } from "./query.ts";

type Handlers = {
  [C in keyof WireCalls]: (
    argument: WireCalls[C]["arguments"],
  ) => WireCalls[C]["result"] | Promise<WireCalls[C]["result"]>;
};

let running: { readonly thread: PacketThread; readonly plan: WirePlan } | null = null;

const handlers: Handlers = {
  async start(plan) {
    // For good: the packet thread inherits it, and whoever ends the lab finds this process by its namespace.
    await enterNamespace(plan.hubPath);
    running = { plan, thread: await PacketThread.start(plan, fail) };
    return null;
  },
  async setPath(order) {
    await need().thread.setPath(order);
    return null;
  },
  mark: () => need().thread.ring.written,
  record: (filter) => readRecord(need().thread.ring, filter),
  packets(filter) {
    const { ring, kernelTimeBase } = need().thread;
    return readPackets(ring, filter, BigInt(kernelTimeBase) * 1_000_000_000n);
  },
  totals() {
    const { thread, plan } = need();
    const nodes = Array.from({ length: plan.nodes }, (_, node) => node);
    return {
      paths: nodes.map((source) => nodes.map((target) => thread.counters.path(source, target))),
      wire: thread.counters.wire(),
    };
  },
};

function need(): NonNullable<typeof running> {
  if (running === null) throw new Error("the wire must be started first");
  return running;
}

function tell(message: CallMessage): void {
  process.send?.(message);
}

async function answer({ id, call, arguments: argument }: WireRequest): Promise<void> {
  try {
    const handler = handlers[call] as (argument: unknown) => unknown;
    tell({ kind: "result", id, result: await handler(argument) });
  } catch (error) {
    tell({ kind: "failure", id, message: `${call}: ${reasonOf(error)}` });
  }
}

function fail(error: Error): void {
  process.stderr.write(`packet thread: ${error.stack ?? error.message}\n`, () => process.exit(1));
}

try {
  // Before the packet thread is made, which inherits it, for where it may not have a real-time priority.
  setPriority(0, constants.priority.PRIORITY_HIGHEST);
} catch {
  // Delays are then late by what the machine is busy, and the record tells.
}
process.on("message", (request) => void answer(request as WireRequest));
process.on("disconnect", () => process.exit(0));
// Ctrl-C reaches the whole group of processes; the wire must stay until the lab is closed.
process.on("SIGINT", () => undefined);
tell({ kind: "ready" });
