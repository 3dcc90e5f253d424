import { cpus, loadavg } from "node:os";
import { NamespaceLab } from "../namespace-lab.ts";
import type { ExactTimes } from "../record.ts";
import { runOn, serveOn, UDP_ECHO, udpPinger } from "./programs.ts";

const DELAYS_MS = [0, 5, 10, 50, 100, 200];
const RATES_PER_SECOND = [100, 1000, 5000];
const SECONDS = 4;

function row(cells: readonly (string | number)[]): void {
  process.stdout.write(`| ${cells.join(" | ")} |\n`);
}

function inUs({ p50Ms, p90Ms, p99Ms, maxMs }: ExactTimes): string[] {
  return [p50Ms, p90Ms, p99Ms, maxMs].map((ms) => (ms === null ? "" : (ms * 1000).toFixed(0)));
}

const lab = await NamespaceLab.create({ nodes: ["a", "b"] });
try {
  await serveOn(lab, "b", UDP_ECHO);
  process.stdout.write(
    `${cpus().length} cores, load ${loadavg()[0]!.toFixed(2)}; exit - intended exit, µs\n`,
  );
  row(["delay ms", "requests/s", "packets", "p50", "p90", "p99", "max", "within 50 µs, %"]);
  row(Array.from({ length: 8 }, () => "---"));
  for (const rate of RATES_PER_SECOND) {
    for (const delayMs of DELAYS_MS) {
      await lab.setPaths("a", "b", { delayMs });
      const since = await lab.mark();
      await runOn(lab, "a", udpPinger(lab.address("b"), { count: rate * SECONDS, intervalMs: 1000 / rate }));
      const { lateness } = await lab.record({ since, protocol: "udp" });
      const packets = await lab.packets({ since, protocol: "udp" });
      const near = packets.filter(
        ({ addedMs, intendedMs }) => Math.abs((addedMs ?? Infinity) - intendedMs!) <= 0.05,
      );
      const share = ((100 * near.length) / packets.length).toFixed(1);
      row([delayMs, rate, packets.length, ...inUs(lateness), share]);
    }
  }
  const { wire } = await lab.totals();
  process.stdout.write(`${JSON.stringify(wire)}\n`);
} finally {
  await lab.close();
}
