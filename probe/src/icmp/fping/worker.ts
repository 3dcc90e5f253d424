// Entry file of the thread that runs fping and reads what it prints.
import { parentPort } from "node:worker_threads";
import type { FromIcmp, ToIcmp } from "../messages.ts";
import { FpingHost } from "./host.ts";
import { FpingProcess, checkFping } from "./process.ts";

const port = parentPort;
if (port === null) throw new Error("icmp/fping/worker.ts must be started as a worker thread");
const post = (message: FromIcmp): void => port.postMessage(message);

const host = new FpingHost({
  monotonic: () => performance.now(),
  later(run, delayMs) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  startProcess: (options, events) => new FpingProcess(options, events),
  post,
});
port.on("message", (message: ToIcmp) => {
  host.handle(message);
  if (message.type === "stop") port.close();
});

try {
  post({ type: "ready", description: await checkFping() });
} catch (error) {
  post({ type: "unavailable", reason: error instanceof Error ? error.message : String(error) });
  port.close();
}
