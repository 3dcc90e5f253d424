// Kube-scheduler's CPU per pod with and without an extender for a resource not requested. `--quick`: fewer
// pairs.
import { median } from "@isochrone/primitives";
import { startControlPlane } from "../../harness/control-plane/index.ts";
import { BASE_CONFIG, Certificates, schedulerConfig, startReplica } from "../../harness/extender.ts";
import { graphsOf, nodeName } from "../placement/scenario.ts";
import type { BenchResult } from "../types.ts";
import { systemClock } from "@isochrone/runtime";
import { schedule } from "./runs.ts";

const NODE_COUNT = 1_000;
const PAIRS = process.argv.includes("--quick") ? 4 : 20;
const PODS = 300;
/** Two-sided 95 % quantile of Student's t, by pairs - 1. */
const STUDENT: Readonly<Record<number, number>> = { 3: 3.182, 19: 2.093 };
const RESOURCE = "isochrone.dev/placement";

export async function run(): Promise<BenchResult[]> {
  const certificates = await Certificates.create();
  const cluster = await startControlPlane({ components: ["scheduler"] });
  const graphs = graphsOf(NODE_COUNT, systemClock.now());
  const replica = await startReplica({ cluster, certificates, graphs });
  try {
    await cluster.addNodes(NODE_COUNT, (index) => ({ name: nodeName(index), zone: `zone-${index % 6}` }));
    await cluster.createNamespace("shop");
    const options = ["--managed-resource", RESOURCE];
    const config = await schedulerConfig(replica.url, certificates, { options });
    const cpuMs = async (of: string): Promise<number> =>
      (await schedule(cluster, of, PODS, false)).cpuMsPerPod;
    // The first run has cold caches.
    await cpuMs(BASE_CONFIG);
    const differences: number[] = [];
    const without: number[] = [];
    for (let pair = 0; pair < PAIRS; pair++) {
      const isFirst = pair % 2 === 0;
      const first = await cpuMs(isFirst ? BASE_CONFIG : config);
      const second = await cpuMs(isFirst ? config : BASE_CONFIG);
      without.push(isFirst ? first : second);
      differences.push(isFirst ? second - first : first - second);
    }
    return judged(differences, without, await replica.requests());
  } finally {
    await replica.stop();
    await cluster.close();
    await certificates.remove();
  }
}

function judged(
  differences: readonly number[],
  without: readonly number[],
  questions: number,
): BenchResult[] {
  const mean = differences.reduce((sum, value) => sum + value, 0) / PAIRS;
  const variance = differences.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (PAIRS - 1);
  const half = STUDENT[PAIRS - 1]! * Math.sqrt(variance / PAIRS);
  return [
    {
      name: `scheduler CPU of a pod that doesn't use us, with - without, mean of ${PAIRS} pairs`,
      value: mean,
      unit: "ms",
      target: `0 within +- ${half.toFixed(3)} ms (95 %)`,
      met: Math.abs(mean) <= half,
      peer: `without, ${median(without)!.toFixed(2)} ms`,
    },
    {
      name: "questions about pods that don't use us",
      value: questions,
      unit: "",
      target: "0",
      met: questions === 0,
    },
  ];
}
