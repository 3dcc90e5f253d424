// Runs a measuring engine in its own process. The first argument is the task; snapshots are JSON lines.
import { createMeasuringThreads } from "@isochrone/probe";
import { createLogger, systemClock } from "@isochrone/runtime";
import type { ProberLine, ProberTask } from "./prober.ts";

const task = JSON.parse(process.argv[2] ?? "{}") as ProberTask;
const secret = Buffer.from(task.secret, "hex");
// Bucket counts are typed arrays, which JSON would turn into objects.
const plain = (_key: string, value: unknown): unknown =>
  ArrayBuffer.isView(value) ? Array.from(value as Float64Array) : value;
const tell = (line: ProberLine): void => void process.stdout.write(`${JSON.stringify(line, plain)}\n`);

const thread = createMeasuringThreads({
  // Same as in the probe's own process.
  place: "main",
  clock: systemClock,
  logger: createLogger({ service: "probe", level: "info", destination: process.stderr }),
});
const engine = await thread.createEngine(
  { ...task.config, keys: secret.length === 0 ? [] : [{ id: task.config.signingKeyId, secret }] },
  { onSnapshot: (snapshot) => tell({ kind: "snapshot", snapshot }) },
);
if (task.busyMs > 0) keepBusy(task.busyMs, task.busyEveryMs);
engine.setPeers(task.peers);
tell({ kind: "open", udpPort: engine.udpPort, tcpPort: engine.tcpPort });

process.stdin.resume();
process.stdin.on("end", () => void stop());

async function stop(): Promise<void> {
  await engine.stop();
  await thread.close();
  process.exit(0);
}

/** Blocks this thread for `ms` in every `everyMs`. */
function keepBusy(ms: number, everyMs: number): void {
  setInterval(() => {
    const end = performance.now() + ms;
    while (performance.now() < end);
  }, everyMs);
}
