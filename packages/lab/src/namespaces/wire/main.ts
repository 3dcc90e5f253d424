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
    // Permanently: the packet thread inherits the namespace, and cleanup finds this process by it.
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
  // Before the packet thread inherits it, in case real-time priority is refused.
  setPriority(0, constants.priority.PRIORITY_HIGHEST);
} catch {
  // Delays are then late on a busy machine, which the record shows.
}
process.on("message", (request) => void answer(request as WireRequest));
process.on("disconnect", () => process.exit(0));
// Ctrl-C reaches the whole process group; the wire must run until the lab closes.
process.on("SIGINT", () => undefined);
tell({ kind: "ready" });
