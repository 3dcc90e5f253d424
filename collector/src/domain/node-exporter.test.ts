import { describe, expect, it } from "vitest";
import { TargetMemory } from "./target-memory.ts";
import { takePage } from "./testing/take-page.ts";

const page = (idle: Readonly<Record<string, number>>): string => `# TYPE node_cpu_seconds_total counter
${Object.entries(idle)
  .map(
    ([cpu, seconds]) => `node_cpu_seconds_total{cpu="${cpu}",mode="idle"} ${seconds}
node_cpu_seconds_total{cpu="${cpu}",mode="iowait"} 7
node_cpu_seconds_total{cpu="${cpu}",mode="user"} 11`,
  )
  .join("\n")}
# TYPE node_memory_MemAvailable_bytes gauge
node_memory_MemAvailable_bytes 3e+09
node_memory_MemTotal_bytes 8e+09
node_load1 0.5
process_start_time_seconds 1.5e+09
`;

function idleTimes(pages: readonly Readonly<Record<string, number>>[]): unknown[] {
  const memory = new TargetMemory({ kind: "node_exporter" });
  return pages.map((idle) => {
    const { metrics } = takePage(memory, page(idle));
    const points = metrics.find(({ name }) => name === "node_cpu_seconds_total")!.points;
    expect(points).toHaveLength(1);
    return (points[0] as { readonly value: number }).value;
  });
}

describe("node_exporter's page", () => {
  it("keeps idle time, of all CPUs together and without a start, and the memory that is available", () => {
    const { metrics } = takePage(new TargetMemory({ kind: "node_exporter" }), page({ 0: 100, 1: 200 }));
    expect(metrics.map(({ name, kind, points }) => [name, kind, points.length])).toEqual([
      ["node_cpu_seconds_total", "sum", 1],
      ["node_memory_MemAvailable_bytes", "gauge", 1],
    ]);
    expect(metrics[0]!.points[0]).toMatchObject({ attributes: { mode: "idle" }, value: 300 });
    expect(metrics[0]!.points[0]).not.toHaveProperty("startMs");
    expect(metrics[1]!.points[0]).toMatchObject({ attributes: {}, value: 3e9 });
  });

  it("a CPU that comes brings no time along that it was idle before, and one that goes takes none away", () => {
    // CPU 1 disappears at 205 s and returns on the fourth page at 206 s, counting from there.
    const pages = [
      { 0: 100, 1: 200 },
      { 0: 105, 1: 205 },
      { 0: 110 },
      { 0: 115, 1: 206 },
      { 0: 120, 1: 210 },
    ];
    expect(idleTimes(pages)).toEqual([300, 310, 315, 320, 329]);
  });

  it("begins anew with the node", () => {
    expect(
      idleTimes([
        { 0: 100, 1: 200 },
        { 0: 3, 1: 4 },
        { 0: 5, 1: 6 },
      ]),
    ).toEqual([300, 7, 11]);
  });
});
