// Random, partly filled clusters with differences for kube-scheduler's default plugins.
import type { SchedulableNode, SchedulingRequest, WaitingPod } from "@isochrone/experiments/testing";
import { seededRandom } from "@isochrone/runtime";

const MI = 1024 * 1024;
const MAX_PODS = 110;

export function generateRequest(seed: number): SchedulingRequest {
  const random = seededRandom(seed);
  const chance = (share: number): boolean => random.next() < share;
  const between = (least: number, most: number): number =>
    least + Math.floor(random.next() * (most - least + 1));
  const of = <T>(items: readonly T[]): T => items[between(0, items.length - 1)]!;
  const zones = between(1, 4);
  const isEqual = chance(0.3);
  const size = { cpu: of([2_000, 4_000]), memory: of([4_096, 8_192]) * MI };
  const nodes = Array.from({ length: between(3, 12) }, (_, index): SchedulableNode => {
    const cpuMillicores = isEqual
      ? size.cpu
      : of([1_000, 2_000, 4_000, 8_000]) - (chance(0.5) ? between(0, 300) : 0);
    const memoryBytes = isEqual
      ? size.memory
      : of([2_048, 4_096, 8_192, 16_384]) * MI - (chance(0.5) ? between(0, 300 * MI) : 0);
    return {
      name: `n${index}`,
      zone: chance(0.05) ? "" : `z${index % zones}`,
      region: "r0",
      cpuMillicores,
      memoryBytes,
      maxPods: chance(0.15) ? between(2, 6) : MAX_PODS,
    };
  });
  const workloads = Array.from({ length: between(2, 6) }, (_, index) => ({
    workload: `w${index}`,
    cpuMillicores: chance(0.2) ? 0 : of([50, 100, 250, 500, 1_000, between(1, 1_500)]),
    memoryBytes: chance(0.2) ? 0 : of([64, 128, 200, 512, 1_024, between(1, 2_000)]) * MI,
  }));
  const replicas = new Map<string, number>();
  const pod = (pinnedTo: string | null): WaitingPod => {
    const workload = of(workloads);
    const replica = replicas.get(workload.workload) ?? 0;
    replicas.set(workload.workload, replica + 1);
    return { ...workload, name: `${workload.workload}-${replica}`, pinnedTo };
  };
  // Placed even without room, because a pod with a node name bypasses the scheduler.
  const placed = Array.from(
    { length: between(0, 3 * nodes.length) },
    () => [pod(null), of(nodes).name] as const,
  );
  const pods = Array.from({ length: between(8, 12) }, () => pod(chance(0.1) ? of(nodes).name : null));
  return { nodes, placed, pods };
}
