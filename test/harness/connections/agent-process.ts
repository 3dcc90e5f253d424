// `NODE INTERVAL_MS`: prints the namespace's connections as JSON lines, and metrics on SIGTERM.
import { createConnectionCollector } from "@isochrone/collector/testing";
import { createRegistry, seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { MetricsDecoder, type Series } from "@isochrone/telemetry";
import { readOutside } from "@isochrone/telemetry/outside";

const [node = "", intervalMs] = process.argv.slice(2);
const registry = createRegistry();
const decoder = new MetricsDecoder();
const print = (line: unknown): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const collector = createConnectionCollector(
  {
    node,
    intervalMs: Number(intervalMs),
    bufferBytes: 8e6,
    bufferMaxAgeMs: 60_000,
    catchUpRecordsPerSecond: 1000,
  },
  {
    bus: {
      async publish(_topic, records) {
        const points: [ends: string, bytes: number][] = [];
        for (const { value } of records)
          decoder.decode(value, {
            number({ attributes }: Series, _startMs: number, _timeMs: number, bytes: number) {
              points.push([Object.values(attributes).join(" "), bytes]);
            },
            histogram: () => undefined,
            exponentialHistogram: () => undefined,
            refused: (reason) => print({ refused: reason }),
          });
        print({ points });
      },
    },
    clock: systemClock,
    random: seededRandom(1),
    logger: new MemoryLogger(),
    registry,
    outside: readOutside({
      cluster: ["10.244.0.0/16", "10.96.0.0/12", "192.0.2.0/24"],
      names: [{ name: "s3-eu", cidrs: ["52.218.0.0/17"] }],
    }),
  },
);
process.once("SIGTERM", () => {
  void (async () => {
    await collector.stop();
    print({ metrics: await registry.metrics(), cpuMs: process.cpuUsage().user / 1000 });
    process.exit(0);
  })();
});
await collector.start();
// Connections in the first dump are the baseline.
while (!/_connections_state\{[^}]*\} 1/.test(await registry.metrics())) await systemClock.sleep(50);
print({ isReady: true });
