// Records kube-scheduler's feasible nodes, scores by plugin and choices, by an extender and the log. Run:
// node tools/node24.mjs test/experiments/kube-scheduler-record.ts [DECISIONS] [SEED]
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SchedulingRequest, WaitingPod } from "@isochrone/experiments/testing";
import { ReapedFolder } from "../harness/common/reaped-folder.ts";
import { RestartableProcess } from "../harness/common/restartable-process.ts";
import {
  KUBERNETES_VERSION,
  prepareControlPlane,
  startControlPlane,
} from "../harness/control-plane/index.ts";
import { generateRequest } from "./kube-scheduler-generator.ts";
import { RealKubeScheduler, type Trial } from "./kube-scheduler.ts";

const TARGET = join(
  import.meta.dirname,
  "../../packages/placement/src/feasibility/scores/testing/decisions.json",
);
const DECISIONS = Number(process.argv[2] ?? 500);
const SEED = Number(process.argv[3] ?? 1);
const SEEDS_APART = 100_000;
/** Plugins that distinguish nodes, by their names in the log, with the weights that multiply their scores. */
const PLUGINS = [
  ["NodeResourcesFit", 1],
  ["NodeResourcesBalancedAllocation", 1],
  ["PodTopologySpread", 2],
] as const;
/** Plugins without effect in these clusters. */
const EVEN_PLUGINS = ["TaintToleration", "NodeAffinity", "InterPodAffinity", "ImageLocality"];
const SCORE =
  /"Plugin scored node for pod" pod="default\/([^"]+)" plugin="([^"]+)" node="([^"]+)" score=(\d+)/g;
const HOST = "127.0.0.1";

type Decision = [workload: number, pin: number, feasible: number[], choice: number, scores: number[][]];

class Listener {
  readonly url: string;
  readonly feasible = new Map<string, readonly string[]>();
  readonly #server: Server;

  static async start(): Promise<Listener> {
    const heard: Listener[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { Pod, NodeNames } = JSON.parse(Buffer.concat(chunks).toString()) as {
          Pod: { metadata: { name: string } };
          NodeNames: string[];
        };
        heard[0]!.feasible.set(Pod.metadata.name, NodeNames);
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ NodeNames }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
    heard.push(new Listener(server));
    return heard[0]!;
  }

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://${HOST}:${(server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const schedulerConfig = (
  kubeconfig: string,
  url: string,
): string => `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: "${kubeconfig}", qps: 2000, burst: 4000}
leaderElection: {leaderElect: false}
profiles:
- schedulerName: default-scheduler
  plugins: {postFilter: {disabled: [{name: "*"}]}}
extenders:
- {urlPrefix: "${url}", filterVerb: filter, nodeCacheCapable: true, httpTimeout: 30s}
`;

interface Recorded {
  readonly line: string;
  readonly decisions: number;
}

/** Records one cluster. Each pod is scheduled after the previous ones. Scores follow when the log is read. */
async function record(
  request: SchedulingRequest,
  trial: Trial,
  { feasible }: Listener,
): Promise<(scores: Scores) => Recorded> {
  const nodeIndex = new Map(request.nodes.map(({ name }, index) => [name, index]));
  const workloads = [
    ...new Map(
      [...request.placed.map(([pod]) => pod), ...request.pods].map((pod) => [pod.workload, pod]),
    ).values(),
  ];
  const workloadIndex = new Map(workloads.map(({ workload }, index) => [workload, index]));
  const asked: { readonly pod: WaitingPod; readonly choice: number }[] = [];
  for (const pod of request.pods) {
    const fate = await trial.schedule(pod);
    asked.push({ pod, choice: "node" in fate ? nodeIndex.get(fate.node)! : -1 });
  }
  return (scores) => {
    const decisions = asked.map(({ pod, choice }): Decision => {
      const name = trial.inside(pod.name);
      // Data on an unscheduled pod is from a later attempt, after other pods had gone.
      const heard = choice < 0 ? [] : feasible.get(name)!;
      const passed = heard.map((node) => nodeIndex.get(trial.outside(node))!);
      passed.sort((a, b) => a - b);
      const scored = (plugin: string): (number | undefined)[] =>
        passed.map((node) => scores(name, plugin, trial.inside(request.nodes[node]!.name)));
      const uneven = EVEN_PLUGINS.find((plugin) => new Set(scored(plugin)).size > 1);
      if (uneven !== undefined) throw new Error(`${uneven} tells nodes apart for ${name}`);
      // kube-scheduler skips scoring without a choice, and BalancedAllocation skips pods without requests.
      const rows = PLUGINS.map(([plugin, weight]) =>
        scored(plugin).flatMap((score) => (score === undefined ? [] : [score / weight])),
      );
      const pin = pod.pinnedTo === null ? -1 : nodeIndex.get(pod.pinnedTo)!;
      return [workloadIndex.get(pod.workload)!, pin, passed, choice, passed.length > 1 ? rows : []];
    });
    const line = JSON.stringify({
      nodes: request.nodes.map(({ cpuMillicores, memoryBytes, maxPods, zone }) => [
        cpuMillicores,
        memoryBytes,
        maxPods,
        zone,
      ]),
      workloads: workloads.map(({ cpuMillicores, memoryBytes }) => [cpuMillicores, memoryBytes]),
      placed: request.placed.map(([pod, node]) => [workloadIndex.get(pod.workload), nodeIndex.get(node)]),
      decisions,
    });
    return { line, decisions: decisions.length };
  };
}

type Scores = (pod: string, plugin: string, node: string) => number | undefined;

function scoresOf(log: string): Scores {
  const found = new Map<string, number>();
  for (const [, pod, plugin, node, score] of log.matchAll(SCORE))
    found.set(`${pod} ${plugin} ${node}`, Number(score));
  return (pod, plugin, node) => found.get(`${pod} ${plugin} ${node}`);
}

const listener = await Listener.start();
const folder = new ReapedFolder("isochrone-recording");
const plane = await startControlPlane();
try {
  const { scheduler: command } = await prepareControlPlane(["scheduler"]);
  const kubeconfig = await plane.kubeconfigOf({ user: "system:kube-scheduler" });
  const config = join(folder.path, "scheduler.yaml");
  writeFileSync(config, schedulerConfig(kubeconfig, listener.url));
  const scheduler = new RestartableProcess({
    name: "kube-scheduler",
    command,
    args: [`--config=${config}`, "--secure-port=0", "--vmodule=schedule_one=10"],
    cwd: folder.path,
    environment: folder.environment,
    logPath: join(folder.path, "scheduler.log"),
    isReady: () => true,
    startWithinMs: 60_000,
  });
  await scheduler.start();
  const real = new RealKubeScheduler(plane);
  const recordings: ((scores: Scores) => Recorded)[] = [];
  let asked = 0;
  for (let round = 0; asked < DECISIONS; round++) {
    const request = generateRequest(SEED * SEEDS_APART + round);
    const pods = request.pods.slice(0, DECISIONS - asked);
    const trial = await real.begin({ ...request, pods });
    recordings.push(await record({ ...request, pods }, trial, listener));
    await trial.close();
    asked += pods.length;
  }
  const scores = scoresOf(scheduler.log);
  const recorded = recordings.map((finish) => finish(scores));
  const head = JSON.stringify({
    kubernetes: KUBERNETES_VERSION,
    seed: SEED,
    plugins: PLUGINS.map(([name]) => name),
  });
  writeFileSync(
    TARGET,
    `${head.slice(0, -1)},"clusters":[\n${recorded.map(({ line }) => line).join(",\n")}\n]}\n`,
  );
  console.log(`${asked} decisions of kube-scheduler ${KUBERNETES_VERSION} in ${recorded.length} clusters`);
} finally {
  listener.close();
  await plane.close();
  await folder.remove();
}
