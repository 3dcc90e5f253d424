// Child process of the ICMP contract in its own network namespace: runs the probers as instructed.
import type { IcmpReport, IcmpTask } from "@isochrone/probe/testing";
import { IcmpThread } from "@isochrone/probe/testing";
import { MemoryLogger } from "@isochrone/runtime/testing";

export type ToNear =
  | { readonly type: "task"; readonly task: IcmpTask }
  | { readonly type: "take"; readonly engine: number }
  /** Whether the main thread works 5 ms of every 20, like a busy service. */
  | { readonly type: "busy"; readonly on: boolean }
  | { readonly type: "close" };

export type FromNear =
  | { readonly type: "started" }
  | {
      readonly type: "taken";
      readonly report: IcmpReport;
      readonly prober: string | null;
      readonly restarts: number;
      /** Events and fields logged since the last report. */
      readonly log: readonly { readonly level: string; readonly event: string; readonly fields: unknown }[];
    }
  | { readonly type: "closed" };

const post = (message: FromNear): void => void process.send?.(message);
const logger = new MemoryLogger();
let thread = new IcmpThread(logger);
let work: NodeJS.Timeout | null = null;

const WORK_MS = 5;
const WORK_EVERY_MS = 20;

function setBusy(on: boolean): void {
  if (work !== null) clearInterval(work);
  work = null;
  if (!on) return;
  work = setInterval(() => {
    const untilMs = performance.now() + WORK_MS;
    while (performance.now() < untilMs);
  }, WORK_EVERY_MS);
}

async function renew(): Promise<void> {
  await thread.close();
  thread = new IcmpThread(logger);
  post({ type: "closed" });
}

process.on("disconnect", () => process.exit(0));
process.on("message", (message: ToNear) => {
  switch (message.type) {
    case "task":
      thread.setTask(message.task);
      return;
    case "take": {
      const log = logger.lines.splice(0).map(({ level, event, fields }) => ({ level, event, fields }));
      const { prober, restarts } = thread;
      post({ type: "taken", report: thread.drain(message.engine), prober, restarts, log });
      return;
    }
    case "busy":
      setBusy(message.on);
      return;
    case "close":
      void renew();
      return;
    default:
      message satisfies never;
  }
});
post({ type: "started" });
